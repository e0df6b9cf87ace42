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
 * The storage that the message pipeline, the push delivery and the API use. A promise here resolves once its result is
 * durable: a crash right afterwards loses nothing. The only exception is {@link Device.lastSeenAt}. Promises reject
 * with an error that has a `code` and a `remedy`. While the disk refuses writes, reads still work.
 */
export type Store = ExclusiveStore | SharedStore

/** A store that this process has to itself, such as a SQLite file. */
export interface ExclusiveStore extends StoreParts {
  readonly isShared: false
  /** All messages as they are stored. It is complete, because no other process stores messages. */
  readonly feed: Feed
  /**
   * Copies the store into the new file `path` while the store is in use. Resolves with the size in bytes. On failure,
   * or once `signal` is aborted, it rejects and leaves no file. Run one backup at a time, and wait for it before {@link
   * close}.
   */
  backUp(path: string, signal: AbortSignal): Promise<number>
}

/** A store that other processes use at the same time, such as a PostgreSQL database, which has its own backups. */
export interface SharedStore extends StoreParts {
  readonly isShared: true
  /**
   * The keys that all processes sharing the store must have in common. An exclusive store keeps its keys in files
   * instead.
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
  /** Returns the error code while writes fail, or undefined while they work. The store retries every few seconds. */
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
  /** Default: none. */
  readonly options?: DeviceOptions
  readonly avatar?: AvatarUpload
  /** The network of the client. The limit of new stations and devices applies per network. */
  readonly client: string
}

/** An uploaded avatar. The sidecar computes `hash`. Empty `icon` and `image` clear the avatar. */
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
 * - `joined`: the device is new. It may have replaced a device that had not registered for a long time.
 * - `refreshed`: station and device were registered before.
 * - `full`: the registry has no room for another station.
 * - `devices_full`: the station has no room for another device, and all of its devices have registered recently.
 * - `limited`: the station or device is new, and its client has reached the limit of new ones in this hour.
 */
export type RegisterOutcome =
  /** `displaced`: the unproven station that was removed to make room. */
  | { readonly kind: 'created'; readonly station: Station; readonly displaced?: StationKey }
  | { readonly kind: 'joined' | 'refreshed'; readonly station: Station }
  | { readonly kind: 'full' | 'devices_full' | 'limited' }

/** Selects devices of a station; all of them by default. `seenBeforeMs` is wall-clock time. */
export interface DeviceFilter {
  readonly deviceId?: DeviceId
  /** Selects the device only if this is its token. */
  readonly pushToken?: string
  readonly seenBeforeMs?: number
}

/**
 * The outcome of a removal:
 * - `none`: there were no such devices.
 * - `wrong_token`: the device has another push token.
 * - `silenced`: the device stays, without notifications and acks until it registers again. Its token has changed
 *   before, so a stranger may have taken over the device or registered it first. The history is kept in case the phone
 *   returns.
 * - `devices`: the devices were removed; `station`: the last device was removed, and the station with it.
 */
export type RemoveOutcome = 'none' | 'wrong_token' | 'silenced' | 'devices' | 'station'

/** The registry. All lookups but {@link Stations.find} use memory only, because the pipeline makes one per packet. */
export interface Stations {
  get(key: StationKey): Station | undefined
  /**
   * Like {@link get}, but also queries a shared database, because another process may just have registered the station.
   */
  find(key: StationKey): Promise<Station | undefined>
  readonly size: number
  keys(): Iterable<StationKey>
  /**
   * Returns the other stations that get a message to `addressee`, because one of their devices wants messages to all
   * SSIDs of its callsign.
   */
  besides(addressee: StationKey): readonly StationKey[]
  /** Returns all stations with such a device. */
  anySsidKeys(): readonly StationKey[]
  /**
   * Counts each station once, under the platform of its oldest device. So the sum over all platforms is the number of
   * stations.
   */
  countStations(): ByPlatform
  /** Counts the devices of all stations. */
  countDevices(): ByPlatform
  /**
   * Registers a station and device. If another device of the station has this `pushToken`, that device's token is
   * marked dead. Other stations do not change, because one phone may have two callsigns.
   */
  register(registration: Registration): Promise<RegisterOutcome>
  /**
   * Marks the station as proven: it synced, or a push gateway accepted its token. A second registration proves it too.
   * In a full registry, a new station replaces the oldest unproven station that is older than {@link UNPROVEN_MS}.
   * Never throws. The mark is stored later.
   */
  prove(key: StationKey): void
  /** Removes devices. With the last device, the station and its history are removed. */
  remove(key: StationKey, filter?: DeviceFilter): Promise<RemoveOutcome>
  /** Records that the push gateway reported `pushToken` dead. No effect if the device has another token by now. */
  markTokenDead(key: StationKey, deviceId: DeviceId, pushToken: string): Promise<void>
  /** Grows whenever the avatar hash of any station may have changed, so that caches of hashes know when to reload. */
  readonly avatarChanges: number
  /** Reads the avatars with their images. The result contains only those of `keys` that have an avatar. */
  avatars(keys: readonly StationKey[]): Promise<ReadonlyMap<StationKey, AvatarRecord>>
  /**
   * Calls `listener` after stations were added or removed, or {@link anySsidKeys} changed, once the change is durable.
   */
  onChange(listener: () => void): void
}

/** The outcome of storing a message. With `ack`, the caller must send the ack now. */
export type AppendOutcome =
  | { readonly kind: 'stored'; readonly message: StoredMessage; readonly ack: boolean }
  /** `stamp`: with `ack`, the stamp of the message of which this is a copy, if its ring still holds it. */
  | { readonly kind: 'duplicate'; readonly ack: boolean; readonly stamp?: number }
  /** The station is not, or is no longer, registered. */
  | { readonly kind: 'no_station' }

/** The newest messages of each station, in a ring of fixed size. */
export interface History {
  /**
   * Stores the messages that are no duplicates, in order, in one transaction with other waiting writes. Outcomes are in
   * the order of `messages`. Rejects if none of them could be stored. With `store_overloaded`, the caller should await
   * its earlier appends before it reads more.
   *
   * `mayAck`: whether the caller could send acks now. Only then can an outcome have `ack`, and only one of all callers
   * gets it. The message must have a sequence id, its station must want to acknowledge it ({@link wantsAcks}), and the
   * throttle must allow the ack. The ack is then recorded as sent, also for the operator: see {@link StationReports}.
   */
  append(messages: readonly ReceivedMessage[], mayAck: boolean): Promise<readonly AppendOutcome[]>
  /**
   * Returns the messages newer than `from` (by default `since`) that the device takes, oldest first. `since` is the
   * cursor that the device sent. `answerStamp` is computed as by {@link Cursors.stampFor}, for an answer with the
   * messages and acks newer than `since`. Returns undefined if the station is not registered, or has no such device.
   */
  since(station: StationKey, deviceId: DeviceId, since: number, from?: number): Promise<NewMessages | undefined>
  /** Maximum number of messages in a station's ring. A new message beyond it replaces the oldest. */
  readonly perStation: number
}

/** New messages of a station and the data for an answer with them, all read at one moment. */
export interface NewMessages {
  readonly messages: readonly StoredMessage[]
  /**
   * Received acks and rejections newer than `since`, oldest first; absent unless the device wants them.
   */
  readonly acks?: readonly StoredAck[]
  /**
   * Whether the answer fits all devices of the station without options: the device has none, and the ring has no
   * messages to other SSIDs of the station's callsign.
   */
  readonly isShareable: boolean
  /** The stamp of the answer, which the phone stores as its next cursor. */
  readonly answerStamp: number
  /** Stamp of the station's registration. Its ring has no earlier messages. */
  readonly registeredAt: number
  /** Stamp of the station's newest message, or of its newest ack if the device wants acks; 0 if it has none. */
  readonly newest: number
  /** Stamp of the newest message that the ring has dropped since the station's registration; 0 if there is none. */
  readonly newestDropped: number
  /**
   * A string that changes if the store may have lost messages, as after a failover. Messages cached before the change
   * are then invalid. Absent for an exclusive store.
   */
  readonly lineage?: string
}

/** A feed of all messages as they are stored, for caches of rings in memory. */
export interface Feed {
  /** Calls `listener` with stored messages, in order, once they are durable and before any outcome is returned. */
  onStored(listener: (messages: readonly StoredMessage[]) => void): void
}

/**
 * Issues stamps: times in milliseconds that strictly increase, across restarts and backward steps of the clock. Stored
 * messages have stamps, and answers to phones have stamps that serve as cursors.
 */
export interface Stamps {
  /** Returns a stamp above the stamps of everything that is stored. */
  issue(): Promise<number>
}

/**
 * Decides the stamp of each answer to a phone, using one cursor per device. A phone stores the newest stamp of its
 * answers as its next cursor. So no answer may have a stamp above that of a message that the phone has not seen. The
 * sidecar knows that an answer arrived only once the phone sends its stamp as a cursor.
 */
export interface Cursors {
  /**
   * Returns the stamp of an answer to a device.
   *
   * - If the answer has messages, it is `lastMessage`, the stamp of the last one.
   * - Otherwise it is a new stamp if no message newer than the device's cursor is stored. If one is, it is that cursor.
   *
   * The device's cursor is `since`, if this request sent it. Otherwise it is the newest cursor that the device sent
   * before, or the stamp of its registration. A cursor above every stamp ever issued is ignored. Cursors that the
   * device without an id sent before are not remembered, because a stranger could have sent them. If `deviceId` is
   * undefined, the request may be from any device of the station, and the oldest of their cursors decides.
   */
  stampFor(station: StationKey, deviceId: DeviceId | undefined, since?: number, lastMessage?: number): Promise<number>
}

/**
 * Maintenance of the store. It works in slices of a few milliseconds, so that requests are served in between. Once
 * `signal` is aborted, it stops early, without an error.
 */
export interface Housekeeping {
  /**
   * Removes the devices that were last seen before `beforeMs` (wall-clock time), and the stations without any device
   * left, with all their data. Resolves with the number of removed stations.
   */
  expire(beforeMs: number, signal: AbortSignal): Promise<number>
  /**
   * Removes orphaned rows, which only exist if another program edited the database, and resolves with their number.
   * Also removes dropped messages that are too old to have duplicates. On SQLite, it then checkpoints and optimizes the
   * file.
   */
  tidy(signal: AbortSignal): Promise<number>
  /**
   * Returns the wall-clock time since which at least one process has served phones without a break. Breaks in which no
   * phone misses its heartbeat are ignored. Undefined for an exclusive store, because its only process knows this
   * itself.
   */
  readonly presentSince: (() => Promise<number>) | undefined
  /** Returns the size of the database in bytes. */
  sizeBytes(): Promise<number>
  /** Returns the free bytes on the disk of the file; NaN for a database in memory or on a server. */
  freeBytes(): Promise<number>
}
