import type { Clock } from '../../../clock.ts'
import type { AckSettings } from '../../../config/settings.ts'
import { createAckThrottle } from '../../../messages/ack-throttle.ts'
import { wantsAcks } from '../../../messages/station.ts'
import type { ReceivedMessage, Stations } from '../../../messages/store.ts'

/** Says of a durable message whether it is acknowledged now; then its ack counts as sent. */
export type AckClaims = (message: ReceivedMessage) => boolean

interface AckClaimsParts {
  readonly stations: Pick<Stations, 'get'>
  readonly settings: AckSettings
  readonly clock: Pick<Clock, 'elapsed'>
}

/**
 * Counts acks in memory, where one process does all the acknowledging: a restart costs needless ones, which the network
 * drops.
 */
export function claimAcks({ stations, settings, clock }: AckClaimsParts): AckClaims {
  const throttle = createAckThrottle(settings)
  return ({ sourceAsReceived: from, to, seqId }) => {
    if (seqId === '' || !wantsAcks(stations.get(to))) return false
    const ack = { from, to, seqId }
    const now = clock.elapsed()
    if (!throttle.allows(ack, now)) return false
    throttle.sent(ack, now)
    return true
  }
}
