import type {
  AckSettings,
  HistorySettings,
  PushSettings,
  RateLimitSettings,
  StationsSettings,
} from '../config/settings.ts'
import type { ReceivedAcks, StoredAck } from './acks/received-acks.ts'
import type { DeviceOptions } from './devices/device-options.ts'
import type { Keyring } from './keyring.ts'
import type { Instances, Leases } from './leases.ts'
import type { ReceivedMessage, StoredMessage } from './message.ts'
import type { PushQueue } from './push-queue.ts'
import type { StationReports } from './reports/station-reports.ts'
import type { ByPlatform, DeviceId, Platform, Station, StationKey } from './station.ts'

export type { IncomingMessage, ReceivedMessage, StoredMessage } from './message.ts'
export type { Avatar, Device, DeviceId, Platform, Station, StationKey } from './station.ts'
export { MAX_DEVICES, PLATFORMS } from './station.ts'

/** The settings that every store needs. */
export interface StoreSettings {
  readonly history: HistorySettings
  readonly stations: Pick<StationsSettings, 'max' | 'expireAfterHours'>
  readonly ack: AckSettings
  readonly push: Pick<PushSettings, 'coalesceMs'>
  readonly rateLimit: Pick<RateLimitSettings, 'newStationsPerHour'>
  /** The name of this process among those that share the store. */
  readonly instance: string
}

/**
 * The storage of stations, messages and due notifications. Writes resolve once durable, except
 * {@link Device.lastSeenAt}. Errors have a `code` and a `remedy`. While the disk refuses writes, reads still work.
 */
export type Store = ExclusiveStore | SharedStore

/** A store that only this process uses, such as a SQLite file. */
export interface ExclusiveStore extends StoreParts {
  readonly isShared: false
  /** Reports every new message, because no other process can store messages. */
  readonly feed: Feed
  /**
   * Copies the store, while in use, into the new file `path`. Resolves with the size in bytes; if it fails or is
   * aborted, rejects and leaves no file. Make one backup at a time, and wait for it before {@link close}.
   */
  backUp(path: string, signal: AbortSignal): Promise<number>
}

/** A store that other processes use at the same time, such as a PostgreSQL database, which has its own backups. */
export interface SharedStore extends StoreParts {
  readonly isShared: true
  /**
   * The secret keys that all processes of the shared store use. A process with an exclusive store keeps its keys in
   * files.
   */
  readonly keyring: Keyring
}

interface StoreParts {
  readonly stations: Stations
  readonly history: History
  readonly receivedAcks: ReceivedAcks
  readonly pushes: PushQueue
  readonly reports: StationReports
  readonly stamps: Stamps
  readonly cursors: Cursors
  readonly housekeeping: Housekeeping
  readonly leases: Leases
  readonly instances: Instances
  /**
   * Returns the error code while writes fail, or undefined while they work. The store tries to write again every few
   * seconds.
   */
  fault(): string | undefined
  /** Tries a minimal write and updates {@link fault} by its result. Never rejects. */
  probe(): Promise<void>
  close(): Promise<void>
}

/** A registration of a station and one of its devices. Without `avatar`, the avatar stays as it is. */
export interface Registration {
  readonly key: StationKey
  readonly deviceId: DeviceId
  readonly platform: Platform
  readonly pushToken: string
  readonly ackMessages: boolean
  /** The device's options. Default: {@link NO_OPTIONS}. */
  readonly options?: DeviceOptions
  readonly avatar?: AvatarUpload
  /** The network of the client's IP address. The limit of new stations and devices applies to each network. */
  readonly client: string
}

/** An uploaded avatar. If `icon` and `image` are empty, it clears the avatar. The sidecar computes `hash` itself. */
export interface AvatarUpload {
  readonly icon: string
  readonly image: string
  readonly hash: string
}

/** A stored avatar with its image. */
export interface AvatarRecord {
  readonly icon: string
  /** Base64 of a 64x64 PNG, or empty. */
  readonly image: string
  readonly hash: string
}

/**
 * The outcome of a registration:
 * - `created`: the station is new.
 * - `joined`: the device is new. It may have replaced one that had not registered for a long time.
 * - `refreshed`: station and device were registered before.
 * - `full`: there is no room for another station.
 * - `devices_full`: the station has no room for another device.
 * - `limited`: station or device is new, and its client has reached the hourly limit of new ones.
 */
export type RegisterOutcome =
  /** `displaced`: the unproven station that was removed from the full registry. */
  | { readonly kind: 'created'; readonly station: Station; readonly displaced?: StationKey }
  | { readonly kind: 'joined' | 'refreshed'; readonly station: Station }
  | { readonly kind: 'full' | 'devices_full' | 'limited' }

/** Selects the devices of a station that match all given members; without members, all devices. */
export interface DeviceFilter {
  readonly deviceId?: DeviceId
  /** Selects the device only if this is its token. */
  readonly pushToken?: string
  /** Selects devices that last registered before this wall-clock time. */
  readonly seenBeforeMs?: number
}

/**
 * The outcome of a removal:
 * - `none`: no device matched the filter.
 * - `wrong_token`: the device has another push token.
 * - `silenced`: the device stays, but causes no notifications and acks until it registers again. Its token has changed
 *   before, so one of the tokens may be a stranger's.
 * - `devices`: devices were removed, and the station has others.
 * - `station`: the last device was removed, and the station with it.
 */
export type RemoveOutcome = 'none' | 'wrong_token' | 'silenced' | 'devices' | 'station'

/**
 * The registry of stations. Lookups read only memory, because the pipeline makes one for each packet. Only {@link
 * Stations.find} reads the database.
 */
export interface Stations {
  get(key: StationKey): Station | undefined
  /**
   * Like {@link get}, but also queries a shared database, because another process may just have registered the station.
   */
  find(key: StationKey): Promise<Station | undefined>
  readonly size: number
  keys(): Iterable<StationKey>
  /**
   * Returns other stations that get messages to `addressee`, because a device wants those to any SSID of its callsign.
   */
  besides(addressee: StationKey): readonly StationKey[]
  /** Returns all stations with a device that wants the messages addressed to any SSID of its callsign. */
  anySsidKeys(): readonly StationKey[]
  /**
   * Returns the number of stations for each platform. A station is counted under the platform of its oldest device
   * only, so the sum is the number of stations.
   */
  countStations(): ByPlatform
  /** Returns the number of devices for each platform. */
  countDevices(): ByPlatform
  /**
   * Registers a device. Marks `pushToken` dead at the station's other devices, but not at other stations: a phone may
   * have two callsigns.
   */
  register(registration: Registration): Promise<RegisterOutcome>
  /**
   * Marks the station as proven, because it synced or a push gateway accepted its token. A second registration proves
   * it too. In a full registry, a new station replaces the oldest unproven one after {@link UNPROVEN_MS}. Never throws;
   * written later.
   */
  prove(key: StationKey): void
  /** Removes devices. With the last device, the station and its history are removed. */
  remove(key: StationKey, filter?: DeviceFilter): Promise<RemoveOutcome>
  /** Records that the push gateway reported `pushToken` dead. Has no effect if the device has another token by now. */
  markTokenDead(key: StationKey, deviceId: DeviceId, pushToken: string): Promise<void>
  /**
   * A number that increases when the avatar hash of any station may have changed. It tells caches of hashes when to
   * reload.
   */
  readonly avatarChanges: number
  /** Reads the avatars with their images. The result contains only those of `keys` that have an avatar. */
  avatars(keys: readonly StationKey[]): Promise<ReadonlyMap<StationKey, AvatarRecord>>
  /**
   * Calls `listener` after each change of the set of stations or of {@link anySsidKeys}, once the change is durable.
   */
  onChange(listener: () => void): void
}

/** The outcome of storing a message. If `ack` is true, the caller must send the ack now. */
export type AppendOutcome =
  | { readonly kind: 'stored'; readonly message: StoredMessage; readonly ack: boolean }
  /**
   * `stamp`: the stamp of the earlier, equal message. Present only if `ack` is true and the ring still has that
   * message.
   */
  | { readonly kind: 'duplicate'; readonly ack: boolean; readonly stamp?: number }
  /** The station is not registered, or no longer. */
  | { readonly kind: 'no_station' }

/** The newest messages of each station, in a ring of fixed size. */
export interface History {
  /**
   * Stores the messages that are no duplicates, in their order, and resolves with their outcomes. Rejects if none could
   * be stored. After `store_overloaded`, wait for earlier appends before reading more.
   *
   * `ack` in an outcome is true if the message has a sequence id, its station wants to acknowledge it ({@link
   * wantsAcks}), and the throttle allows the ack. It is true for one process only, and the ack is then recorded as sent
   * ({@link StationReports}).
   *
   * @param mayAck whether the caller could send acks now; otherwise `ack` is never true
   */
  append(messages: readonly ReceivedMessage[], mayAck: boolean): Promise<readonly AppendOutcome[]>
  /**
   * Returns the messages newer than `from` that the device accepts, oldest first. Returns undefined if the station is
   * not registered, or has no such device.
   *
   * @param since the cursor that the device sent, for its acks and {@link Cursors.stampFor}
   * @param from default: `since`
   */
  since(station: StationKey, deviceId: DeviceId, since: number, from?: number): Promise<NewMessages | undefined>
  /** Maximum number of messages in a station's ring. In a full ring, a new message replaces the oldest. */
  readonly perStation: number
}

/** New messages of a station, and the other data for the answer to the phone. All data was read at the same moment. */
export interface NewMessages {
  readonly messages: readonly StoredMessage[]
  /**
   * Received acks and rejections newer than `since`, oldest first; absent unless the device wants them.
   */
  readonly acks?: readonly StoredAck[]
  /**
   * Whether devices without options may get the same answer: this one has none, and the ring has no messages to other
   * SSIDs.
   */
  readonly isShareable: boolean
  /** The stamp of the answer, which the phone stores as its next cursor. */
  readonly answerStamp: number
  /** Stamp of the station's registration. The ring has no earlier messages. */
  readonly registeredAt: number
  /** Stamp of the station's newest message, or of its newest ack if the device wants acks; 0 if it has none. */
  readonly newest: number
  /** Stamp of the newest message that the ring has dropped since the station's registration; 0 if there is none. */
  readonly newestDropped: number
  /**
   * Changes when the store may have lost messages, as in a failover; caches must drop theirs. Absent if the store is
   * not shared.
   */
  readonly lineage?: string
}

/** Reports each stored message, so that caches can update their copies of the rings. */
export interface Feed {
  /**
   * Calls `listener` with messages in the order in which they were stored. They are durable, but {@link History.append}
   * has not returned their outcomes yet.
   */
  onStored(listener: (messages: readonly StoredMessage[]) => void): void
}

/**
 * Issues stamps: times in milliseconds that strictly increase, despite restarts and clock changes. Messages have
 * stamps. Answers to phones have them too, as cursors.
 */
export interface Stamps {
  /** Returns a stamp that is greater than the stamps of all stored messages and acks. */
  issue(): Promise<number>
}

/**
 * Decides the stamp of each answer to a phone. The phone sends the newest stamp as its next cursor, the only sign that
 * an answer arrived. So no stamp may be newer than a message that the phone lacks.
 */
export interface Cursors {
  /**
   * Returns the stamp of an answer to a device.
   *
   * - The device's cursor is `since`. By default it is the newest cursor that the device sent, or the stamp of its
   *   registration. A cursor above every issued stamp is ignored. See also {@link remembersCursor}.
   * - With messages, the stamp is `lastMessage`. Without, it is the device's cursor if a newer message is stored,
   *   otherwise a new stamp.
   *
   * @param deviceId undefined if it may be any device of the station: the oldest of their cursors applies
   * @param lastMessage stamp of the answer's last message
   */
  stampFor(station: StationKey, deviceId: DeviceId | undefined, since?: number, lastMessage?: number): Promise<number>
}

/**
 * Maintenance of the store, a few milliseconds at a time, so that requests need not wait. Stops early, without an
 * error, when `signal` is aborted.
 */
export interface Housekeeping {
  /**
   * Removes devices last seen before `beforeMs` (wall-clock time), and stations without devices, with their data.
   * Resolves with the number of these stations.
   */
  expire(beforeMs: number, signal: AbortSignal): Promise<number>
  /**
   * Removes rows orphaned by another program, and resolves with their number. Removes dropped messages too old to have
   * duplicates. Optimizes a SQLite file.
   */
  tidy(signal: AbortSignal): Promise<number>
  /**
   * Returns the wall-clock time since which a process has always served phones, except for interruptions too short for
   * a missed heartbeat. Undefined for an exclusive store, whose process knows when it started.
   */
  readonly presentSince: (() => Promise<number>) | undefined
  /** Returns the size of the database in bytes. */
  sizeBytes(): Promise<number>
  /** Returns the free bytes on the disk of the file; NaN for a database in memory or on a server. */
  freeBytes(): Promise<number>
}
