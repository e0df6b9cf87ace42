import type { Clock } from '../../../clock.ts'
import type { AckSettings } from '../../../config/settings.ts'
import { createAckThrottle } from '../../../messages/acks/ack-throttle.ts'
import { wantsAcks } from '../../../messages/station.ts'
import type { ReceivedMessage, Stations } from '../../../messages/store.ts'

/** Decides which messages the sidecar acknowledges. */
export interface AckClaims {
  /**
   * Returns whether the caller should acknowledge the message once the message is durable. If so, records the ack as
   * sent.
   */
  claim(message: ReceivedMessage): boolean
  /**
   * Undoes {@link claim} for a message that could not be stored. Then the sender's next transmission of the message is
   * acknowledged.
   */
  withdraw(message: ReceivedMessage): void
}

interface AckClaimsParts {
  readonly stations: Pick<Stations, 'get'>
  readonly settings: AckSettings
  readonly clock: Pick<Clock, 'elapsed'>
}

/**
 * Creates the {@link AckClaims} for one process, in memory. After a restart, an ack may be repeated; the network drops
 * it.
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
