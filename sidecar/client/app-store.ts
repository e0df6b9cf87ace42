import type { AckRecord, AvatarRecord, MessageRecord } from './wire/bodies.ts'

/** The client's state, as plain JSON. The app stores it between launches. */
export interface ClientState {
  /** Server time in milliseconds. All messages up to this time are stored in the app. */
  readonly cursor: number
  /** Hash of the station's own avatar that the server last confirmed. */
  readonly avatarHash?: string
  /**
   * This phone's secret id. The client creates it before the first request. Two phones with the same id would be
   * treated as one device.
   */
  readonly deviceId?: string
}

/** The parts of the server's answer other than its messages. */
export interface AnswerDetails {
  /**
   * Whether some messages since the last answer are missing, because the server has replaced them by newer ones. An app
   * can show a gap before `messages`.
   */
  readonly isTruncated: boolean
  /** New acks and rejections of messages that the station sent, oldest first; empty without the option `wantAcks`. */
  readonly acks: readonly AckRecord[]
}

/**
 * The app's storage for messages and state. If a method throws, the request fails and the messages are delivered again.
 */
export interface AppStore {
  /** Returns the last saved state; undefined at the first launch. */
  load(): Promise<ClientState | undefined>
  /**
   * Stores and shows `messages`, oldest first, and stores `state`. Resolve once both are durable. Without a common
   * transaction, store the messages first; after a crash, recognize repeated ones by their `time`.
   */
  save(state: ClientState, messages: readonly MessageRecord[], details: AnswerDetails): Promise<void>
  /**
   * Returns whether the app already received the message over radio or APRS-IS. If so, the client does not pass it to
   * `save`.
   */
  heard?(message: MessageRecord): boolean | Promise<boolean>
}

/**
 * The app's storage for other stations' avatars, by station (`CALL-SSID`). By default, the last 200 are kept in memory.
 */
export interface AvatarStore {
  hashOf(station: string): string | undefined | Promise<string | undefined>
  /** Stores a station's avatar. Undefined means that the station cleared its avatar. */
  put(station: string, avatar: AvatarRecord | undefined): void | Promise<void>
}

const MAX_IN_MEMORY = 200

export function avatarsInMemory(): AvatarStore & { get(station: string): AvatarRecord | undefined } {
  const avatars = new Map<string, AvatarRecord>()
  return {
    get: (station) => avatars.get(station),
    hashOf: (station) => avatars.get(station)?.hash,
    put(station, avatar) {
      avatars.delete(station)
      if (avatar) avatars.set(station, avatar)
      const [oldest] = avatars.keys()
      if (oldest !== undefined && avatars.size > MAX_IN_MEMORY) avatars.delete(oldest)
    },
  }
}
