import type { DeviceId, StationKey } from '../../messages/store.ts'
import type { BodyHead } from '../answers/answer.ts'
import type { JsonText } from '../answers/json-text.ts'

/** Answers requests for messages from rings in memory. */
export interface RingCache {
  /**
   * Returns the messages strictly newer than `since` with their senders' avatars, and the server time that becomes the
   * next cursor. Undefined if the station is not registered or has no such device. Rejects if the history does.
   */
  since(station: StationKey, device: DeviceId, since: number): Promise<NewMessages | undefined>
  /** Approximate bytes of memory that the cached rings occupy. */
  readonly bytes: number
}

/** `head` is the beginning of an answer. Its JSON object is still open, so the endpoint can append members. */
export interface NewMessages {
  readonly head: BodyHead
  readonly serverTime: number
  /** Whether the ring has dropped messages newer than the cursor, so that they are missing here. */
  readonly isTruncated: boolean
}

/** Returns the members of an answer after its head: a comma before each. */
export function membersAfterHead({ serverTime, isTruncated }: NewMessages): JsonText {
  return `,"serverTime":${serverTime}${isTruncated ? ',"truncated":true' : ''}`
}
