import type { Clock } from '../../../clock.ts'
import type { AckSettings } from '../../../config/settings.ts'
import { createAckThrottle } from '../../../messages/acks/ack-throttle.ts'
import { wantsAcks } from '../../../messages/station.ts'
import type { ReceivedMessage, Stations } from '../../../messages/store.ts'

/** Decides which messages are acknowledged. */
export interface AckClaims {
  /** Whether the message is acknowledged once it is durable. If it returns true, it has recorded the ack as sent. */
  claim(message: ReceivedMessage): boolean
  /** Undoes {@link claim}, because the message could not be stored. Its next copy gets an ack. */
  withdraw(message: ReceivedMessage): void
}

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
  return {
    claim(message) {
      const { sourceAsReceived: from, to, seqId } = message
      if (seqId === '' || !wantsAcks(stations.get(to), message)) return false
      const ack = { from, to, seqId }
      const now = clock.elapsed()
      if (!throttle.allows(ack, now)) return false
      throttle.sent(ack, now)
      return true
    },
    withdraw: ({ sourceAsReceived: from, to, seqId }) => throttle.withdraw({ from, to, seqId }),
  }
}
