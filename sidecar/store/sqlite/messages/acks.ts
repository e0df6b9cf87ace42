import type { Clock } from '../../../clock.ts'
import type { AckSettings } from '../../../config/settings.ts'
import { createAckThrottle } from '../../../messages/ack-throttle.ts'
import { wantsAcks } from '../../../messages/station.ts'
import type { ReceivedMessage, Stations } from '../../../messages/store.ts'

/** Decides whether a durable message is acknowledged now. If it returns true, it has recorded the ack as sent. */
export type AckClaims = (message: ReceivedMessage) => boolean

interface AckClaimsParts {
  readonly stations: Pick<Stations, 'get'>
  readonly settings: AckSettings
  readonly clock: Pick<Clock, 'elapsed'>
}

/**
 * Creates the decision. It records acks in memory, because one process sends all of them. After a restart, it may
 * repeat a recent ack, which the network drops.
 */
export function claimAcks({ stations, settings, clock }: AckClaimsParts): AckClaims {
  const throttle = createAckThrottle(settings)
  return (message) => {
    const { sourceAsReceived: from, to, seqId } = message
    if (seqId === '' || !wantsAcks(stations.get(to), message)) return false
    const ack = { from, to, seqId }
    const now = clock.elapsed()
    if (!throttle.allows(ack, now)) return false
    throttle.sent(ack, now)
    return true
  }
}
