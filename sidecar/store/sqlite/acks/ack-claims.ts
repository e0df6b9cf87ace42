import type { Clock } from '../../../clock.ts'
import type { AckSettings } from '../../../config/settings.ts'
import { createAckThrottle } from '../../../messages/acks/ack-throttle.ts'
import { wantsAcks } from '../../../messages/station.ts'
import type { ReceivedMessage, Stations } from '../../../messages/store.ts'

/** Decides which messages the sidecar acknowledges. */
export interface AckClaims {
  /** Returns whether to acknowledge the message once it is durable. If so, the ack is recorded as sent. */
  claim(message: ReceivedMessage): boolean
  /** Undoes {@link claim}, because the message could not be stored. Then its next copy is acknowledged. */
  withdraw(message: ReceivedMessage): void
}

interface AckClaimsParts {
  readonly stations: Pick<Stations, 'get'>
  readonly settings: AckSettings
  readonly clock: Pick<Clock, 'elapsed'>
}

/**
 * Creates the decision. It records sent acks in memory, because one process sends all of them. After a restart, it may
 * repeat a recent ack. The network drops the repeated one.
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
