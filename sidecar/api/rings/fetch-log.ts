import type { Log } from '../../log.ts'
import type { StationKey } from '../../messages/store.ts'

/**
 * Logs each message that a phone fetched, so that the operator can find out what happened to a message. `since`: the
 * cursor of the request.
 */
export function logFetched(log: Log, station: StationKey, stamps: readonly number[], since: number): void {
  for (const stamp of stamps)
    if (stamp > since)
      log.debug('message-fetched', 'A phone fetched a message by sync or registration.', { station, stamp })
}
