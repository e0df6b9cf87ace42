import type { DeviceId, StationKey } from '../../messages/store.ts'
import type { BodyHead } from '../answers/answer.ts'

/** Answers from rings in memory, ready to be sent. */
export interface RingCache {
  /**
   * Returns the messages strictly newer than `since` with their senders' avatars, and the server time that becomes the
   * next cursor. Undefined if the station is not registered or has no such device. Rejects when the history does.
   */
  since(station: StationKey, device: DeviceId, since: number): Promise<NewMessages | undefined>
  /** Approximate memory of the cached rings. */
  readonly bytes: number
}

/** `head` is the beginning of an answer, an object that is still open: other members can follow. */
export interface NewMessages {
  readonly head: BodyHead
  readonly serverTime: number
}
