import type { AvatarRecord, MessageRecord } from './wire/bodies.ts'

/** What the client remembers from one launch of the app to the next; plain JSON. */
export interface ClientState {
  /** Server time, in milliseconds: everything up to it is stored. */
  readonly cursor: number
  /** Hash of the station's avatar that the server confirmed last. */
  readonly avatarHash?: string
  /**
   * What this phone is to the server, made when it first calls: a secret. Two phones with the same would be one device.
   */
  readonly deviceId?: string
}

/** Where the app keeps what the client brings. What is thrown here ends the call, and the messages come again. */
export interface AppStore {
  /** The state that was saved last; undefined at the first launch. */
  load(): Promise<ClientState | undefined>
  /**
   * Keeps and shows `messages`, oldest first, and keeps `state`: in one transaction, and no message is ever seen twice;
   * else the messages before the state, and those that come again after a crash are known by their `time`. Resolves
   * once all of it is durable.
   */
  save(state: ClientState, messages: readonly MessageRecord[]): Promise<void>
  /** Whether a copy of the message came over radio or a live APRS-IS connection already: then it is left out. */
  heard?(message: MessageRecord): boolean | Promise<boolean>
}

/** Where the app keeps the avatars of others, by station (`CALL-SSID`). Default: in memory, the last 200. */
export interface AvatarStore {
  hashOf(station: string): string | undefined | Promise<string | undefined>
  /** Undefined: the station took its avatar away. */
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
