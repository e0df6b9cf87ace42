import type {
  AckSettings,
  HistorySettings,
  PushSettings,
  RateLimitSettings,
  StationsSettings,
} from '../config/settings.ts'
import type { Keyring } from './keyring.ts'
import type { Instances, Leases } from './leases.ts'
import type { ReceivedMessage, StoredMessage } from './message.ts'
import type { PushQueue } from './push-queue.ts'
import type { ByPlatform, DeviceId, Platform, Station, StationKey } from './station.ts'

export type { IncomingMessage, ReceivedMessage, StoredMessage } from './message.ts'
export type { Avatar, Device, DeviceId, Platform, Station, StationKey } from './station.ts'
export { MAX_DEVICES, PLATFORMS } from './station.ts'

/** The parts of the configuration that a store follows, wherever it keeps what it stores. */
export interface StoreSettings {
  readonly history: HistorySettings
  readonly stations: Pick<StationsSettings, 'max' | 'expireAfterHours'>
  readonly ack: AckSettings
  readonly push: Pick<PushSettings, 'coalesceMs'>
  readonly rateLimit: Pick<RateLimitSettings, 'newStationsPerHour'>
  /** What this process is called among those that share the store. */
  readonly instance: string
}

/**
 * What the pipeline, the push delivery and the API need from storage. A promise here resolves once its result is
 * durable: a crash right afterwards loses nothing. The one exception is {@link Device.lastSeenAt}. Promises reject with
 * an error that has a `code` and a `remedy`. While the disk refuses writes, reads still work.
 */
export type Store = ExclusiveStore | SharedStore

/** A store that this process has to itself, such as a SQLite file. */
export interface ExclusiveStore extends StoreParts {
  readonly isShared: false
  /** Complete, because no other process stores messages. */
  readonly feed: Feed
  /**
   * Copies the store into the new file `path` while work goes on. Resolves with the size in bytes. On failure, or once
   * `signal` is aborted, it rejects and leaves no file. Run one backup at a time, and end it before {@link close}.
   */
  backUp(path: string, signal: AbortSignal): Promise<number>
}

/** A store that other processes use at the same time, such as a PostgreSQL database, which has its own backups. */
export interface SharedStore extends StoreParts {
  readonly isShared: true
  /** The keys that all these processes must have in common. An exclusive store keeps its keys in files instead. */
  readonly keyring: Keyring
}

interface StoreParts {
  readonly stations: Stations
  readonly history: History
  readonly pushes: PushQueue
  readonly stamps: Stamps
  readonly cursors: Cursors
  readonly housekeeping: Housekeeping
  readonly leases: Leases
  readonly instances: Instances
  /**
   * Returns the code of the error that writes fail with at present, or undefined while they work. The store retries
   * every few seconds.
   */
  fault(): string | undefined
  /** Updates {@link fault} by a minimal write. Never rejects. */
  probe(): Promise<void>
  close(): Promise<void>
}

/** What a register call says of a station and one of its devices. `avatar` absent: leave it as it is. */
export interface Registration {
  readonly key: StationKey
  readonly deviceId: DeviceId
  readonly platform: Platform
  readonly pushToken: string
  readonly ackMessages: boolean
  readonly avatar?: AvatarUpload
  /** Whose address the call came from, by which new stations and new devices are counted. */
  readonly client: string
}

/** A full avatar as uploaded, `hash` already computed by us; `icon` and `image` both empty clears it. */
export interface AvatarUpload {
  readonly icon: string
  readonly image: string
  readonly hash: string
}

/** A full avatar as stored. */
export interface AvatarRecord {
  readonly icon: string
  /** Base64 of a 64x64 PNG, or empty. */
  readonly image: string
  readonly hash: string
}

/**
 * - `created`: the station is new;
 * - `joined`: it has another device by it, which may have taken the place of one that had not called for long;
 * - `devices_full`: it has as many as it may, and all of them have called lately;
 * - `limited`: station or device is new, and its client has registered as many in this hour as it may.
 */
export type RegisterOutcome =
  /** `displaced`: the unproven station that made room for it, and is gone. */
  | { readonly kind: 'created'; readonly station: Station; readonly displaced?: StationKey }
  | { readonly kind: 'joined' | 'refreshed'; readonly station: Station }
  | { readonly kind: 'full' | 'devices_full' | 'limited' }

/** Which of a station's devices are meant; all of them where nothing is said. Times are of the clock. */
export interface DeviceFilter {
  readonly deviceId?: DeviceId
  /** Only while the device of {@link deviceId} has this token. */
  readonly pushToken?: string
  readonly seenBeforeMs?: number
}

/**
 * The outcome of a removal:
 * - `none`: there were no such devices;
 * - `wrong_token`: the device has another push token;
 * - `silenced`: the device stays, without notifications and acks until it registers again. Its token has changed, so
 *   that a stranger may have taken it over, or registered it first: the history stays for the phone that comes back;
 * - `devices`: the devices went; `station`: the station went with its last device.
 */
export type RemoveOutcome = 'none' | 'wrong_token' | 'silenced' | 'devices' | 'station'

/**
 * The registry. Look-ups but {@link Stations.find} are answered from memory, so that the pipeline asks them for each
 * packet.
 */
export interface Stations {
  get(key: StationKey): Station | undefined
  /** As {@link get}, and asks the store where memory has none: another process may have registered it just now. */
  find(key: StationKey): Promise<Station | undefined>
  readonly size: number
  keys(): Iterable<StationKey>
  /** Each station once, by its oldest device: all platforms together are how many stations there are. */
  countStations(): ByPlatform
  /** How many devices the stations have. */
  countDevices(): ByPlatform
  /**
   * Of the station's other devices, one that has this `pushToken` has it no more: it counts as dead there. Other
   * stations are not touched: one phone may have two calls.
   */
  register(registration: Registration): Promise<RegisterOutcome>
  /**
   * Notes that a phone is behind the station, which synced or whose token a gateway accepted. A second register call
   * says so, too. In a full registry, a new station takes the place of the oldest one that is over {@link UNPROVEN_MS}
   * old and of which nothing says so. Never throws; written down later.
   */
  prove(key: StationKey): void
  /** Removes devices; with its last one the station goes, and its history with it. */
  remove(key: StationKey, which?: DeviceFilter): Promise<RemoveOutcome>
  /** The gateway refused `pushToken` for good. Does nothing when the device has another token by now. */
  markTokenDead(key: StationKey, deviceId: DeviceId, pushToken: string): Promise<void>
  /**
   * Grows whenever another answer to "which avatar hash does this station have" may be true, for who keeps such
   * answers.
   */
  readonly avatarChanges: number
  /** Full avatars of those of `keys` that have one. */
  avatars(keys: readonly StationKey[]): Promise<ReadonlyMap<StationKey, AvatarRecord>>
  /** Called after stations were added or removed, once the change is durable. */
  onChange(listener: () => void): void
}

/** `ack`: the caller is the one who acknowledges the message, now. */
export type AppendOutcome =
  | { readonly kind: 'stored'; readonly message: StoredMessage; readonly ack: boolean }
  | { readonly kind: 'duplicate'; readonly ack: boolean }
  /** The station is not registered (any more). */
  | { readonly kind: 'no_station' }

/** Ring of the newest messages per station. */
export interface History {
  /**
   * Stores what is new, in order, in one transaction with whatever else waits to be written. Outcomes are in the order
   * of `messages`. Rejects when nothing of it could be stored: with `store_overloaded` the caller was too fast and
   * should wait for earlier calls before it reads on.
   *
   * `mayAck`: the caller could send acks now. Only then, and of all callers to one, an outcome says `ack`: when the
   * message has a number, its station wants acks by {@link wantsAcks}, and the throttle lets it through, which counts
   * it as sent.
   */
  append(messages: readonly ReceivedMessage[], mayAck: boolean): Promise<readonly AppendOutcome[]>
  /**
   * Messages strictly newer than `from`, oldest first, and the server time of an answer with those that are newer than
   * `since`, which the device has brought, as {@link Cursors.stampFor} gives it. Undefined when the station is not
   * registered, or has no such device.
   */
  since(station: StationKey, deviceId: DeviceId, since: number, from?: number): Promise<NewMessages | undefined>
  /** How many messages a ring holds; older ones are dropped. */
  readonly perStation: number
}

/** What a station has, all of one moment. */
export interface NewMessages {
  readonly messages: readonly StoredMessage[]
  readonly answerStamp: number
  /** Of its present registration, with which another ring began. */
  readonly registeredAt: number
  /** Time of its newest message, 0 before the first. */
  readonly newest: number
  /**
   * Differs from that of an earlier answer once the store may have lost messages in between: copies from before are no
   * good then. Absent if one process has the store for itself.
   */
  readonly lineage?: string
}

/** What is stored, as it is stored, for who keeps rings in memory. */
export interface Feed {
  /** Calls `listener` with what was stored, in order, as soon as it is durable and before anybody else hears of it. */
  onStored(listener: (messages: readonly StoredMessage[]) => void): void
}

/**
 * Stamps in milliseconds, strictly increasing over every stamp ever issued, restarts and backward clock steps included.
 */
export interface Stamps {
  /** A stamp that is newer than everything that is stored. */
  issue(): Promise<number>
}

/**
 * The server times of answers, by a cursor for each device. A phone stores the newest of every answer as its next
 * cursor, so that none may be newer than a message that it has not seen; whether an answer arrives nobody knows before
 * the phone brings its time as a cursor.
 */
export interface Cursors {
  /**
   * The server time of an answer to the station's device, which brings the cursor `since`, where it does, and gets
   * messages up to the stamp `lastMessage`, where it gets some: that stamp then. Else a new stamp where nothing newer
   * than the device's cursor is stored, and where something is, that cursor: the one that it brings, or the newest that
   * it ever brought, or the stamp of its registration. The device without an id is the exception: what it brought
   * before is not remembered, because a stranger could have brought it. A cursor above every stamp that was issued
   * counts for nothing. Where `deviceId` is undefined, for any of its devices could have called, the oldest of their
   * cursors decides.
   */
  stampFor(station: StationKey, deviceId: DeviceId | undefined, since?: number, lastMessage?: number): Promise<number>
}

/**
 * What keeps the store in order over the years. All of it works in slices of a few milliseconds, so that requests get
 * in between, and stops early, without an error, once `signal` is aborted.
 */
export interface Housekeeping {
  /**
   * Removes the devices that were last seen before `beforeMs` (clock time), and the stations that have none left, with
   * all that is theirs; resolves with how many stations.
   */
  expire(beforeMs: number, signal: AbortSignal): Promise<number>
  /**
   * Removes rows that belong to no station, which only happens when somebody else edits the file; resolves with how
   * many. Forgets what rings have dropped and no duplicate can be of any more. Then has the file take up what was
   * written of late, and lets SQLite look at it.
   */
  tidy(signal: AbortSignal): Promise<number>
  /**
   * Clock time since when some process was there for phones to call, but for gaps in which none can have called in
   * vain. Undefined where one process has the store for itself, and knows it as well.
   */
  readonly presentSince: (() => Promise<number>) | undefined
  /** Bytes of the file, or of what is in memory. */
  sizeBytes(): Promise<number>
  /** Bytes that the file's disk has room for; NaN in memory. */
  freeBytes(): Promise<number>
}
