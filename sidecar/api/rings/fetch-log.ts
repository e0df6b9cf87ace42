import type { Log } from '../../log.ts'
import type { StationKey } from '../../messages/store.ts'

/** Logs each fetched message, so that the operator can trace a message. `since`: the cursor of the request. */
export function logFetched(log: Log, station: StationKey, stamps: readonly number[], since: number): void {
  for (const stamp of stamps)
    if (stamp > since)
      log.debug('message-fetched', 'A phone fetched a message by sync or registration.', { station, stamp })
}
