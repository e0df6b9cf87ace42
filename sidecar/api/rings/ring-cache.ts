import type { DeviceId, StationKey } from '../../messages/store.ts'
import type { BodyHead } from '../answers/answer.ts'
import type { JsonText } from '../answers/json-text.ts'

/** Answers requests for messages from rings in memory. */
export interface RingCache {
  /**
   * Returns the messages newer than `since`, with avatar hashes; undefined if the station is not registered or has no
   * such device. Rejects if the history cannot be read.
   */
  since(station: StationKey, device: DeviceId, since: number): Promise<NewMessages | undefined>
  /** Approximate bytes of memory that the cached rings occupy. */
  readonly bytes: number
}

/**
 * New messages for a device. `head` is the beginning of the answer. Its JSON object is not closed yet, so the endpoint
 * can append members.
 */
export interface NewMessages {
  readonly head: BodyHead
  readonly serverTime: number
  /** Whether messages newer than the cursor are missing, because the ring has dropped them. */
  readonly isTruncated: boolean
}

/** Returns the members that follow the head of an answer. A comma precedes each. */
export function membersAfterHead({ serverTime, isTruncated }: NewMessages): JsonText {
  return `,"serverTime":${serverTime}${isTruncated ? ',"truncated":true' : ''}`
}
