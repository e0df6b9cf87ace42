import type { LogSettings } from '../log.ts'

/**
 * The complete configuration, checked and frozen. Environment variables override the file. Members have the file's
 * names; paths are absolute.
 */
export interface Settings {
  readonly listen: ListenSettings
  readonly admin: { readonly host: string; readonly port: number }
  readonly aprsis: AprsisSettings
  /**
   * A SQLite file, `:memory:`, or the address of a PostgreSQL database. Never show the value, because an address may
   * contain a password.
   */
  readonly database: string
  readonly databaseTls: DatabaseTlsSettings
  /** Name of this instance among those that share the database. If it is null, the machine's host name is used. */
  readonly instance: string | null
  readonly history: HistorySettings
  readonly push: PushSettings
  readonly ack: AckSettings
  readonly rateLimit: RateLimitSettings
  readonly stations: StationsSettings
  readonly backup: BackupSettings
  readonly log: LogSettings
}

export interface DatabaseTlsSettings {
  /** File with the CA certificates in PEM to trust for a PostgreSQL database; null for the well-known ones. */
  readonly caFile: string | null
}

export interface ListenSettings {
  readonly host: string
  /** TCP port to listen on; 0 means any free port. */
  readonly port: number
  readonly certFile: string | null
  readonly keyFile: string | null
  /**
   * Peers that are trusted to send `X-Forwarded-For`: false for none, true for all, or a list of addresses and CIDR
   * ranges.
   */
  readonly trustProxy: boolean | readonly string[]
}

export interface AprsisSettings {
  readonly host: string
  readonly port: number
  /** The sidecar's login callsign, in upper case, with or without SSID. */
  readonly callsign: string
  /** Passcode of `callsign`. With -1, the sidecar logs in unverified, so it receives messages but cannot send acks. */
  readonly passcode: number
  readonly maxConnections: number
  /** Whether filters also contain `b/` terms. With these, the sidecar receives the packets that the stations send. */
  readonly trackOutgoing: boolean
  readonly filterDebounceMs: number
  /** Number of instances that listen at the same time, among those that share the database. */
  readonly listeners: number
  /** Whether this instance may listen to APRS-IS. */
  readonly listen: boolean
}

export interface HistorySettings {
  readonly perStation: number
  /**
   * Minutes for which an equal message counts as a duplicate, if it has a message number. For messages without a
   * number, `duplicateSecondsUnnumbered` applies.
   */
  readonly duplicateMinutes: number
  readonly duplicateSecondsUnnumbered: number
}

export interface PushSettings {
  readonly coalesceMs: number
  readonly fcm: FcmSettings
  readonly apns: ApnsSettings
  readonly webpush: WebPushSettings
}

/** The settings of FCM, which is off while `serviceAccountFile` is null. */
export interface FcmSettings {
  readonly serviceAccountFile: string | null
  /** `https://host:port` of a server that replaces all of Google's servers, including the one for access tokens. */
  readonly endpoint: string | null
  /** File with the CA certificates in PEM to trust for `endpoint`. */
  readonly caFile: string | null
}

/**
 * The settings of APNs, which is off while `keyFile` is null. While it is on, `keyId`, `teamId` and `topic` are set.
 */
export interface ApnsSettings {
  readonly keyFile: string | null
  readonly keyId: string | null
  readonly teamId: string | null
  readonly topic: string | null
  readonly production: boolean
  readonly address: string | null
  readonly port: number | null
  readonly caFile: string | null
}

/** The settings of Web Push, which is off while `subject` is null. */
export interface WebPushSettings {
  /** The operator's contact for push services: a `mailto:` or `https:` address (RFC 8292, 2.1). */
  readonly subject: string | null
  /** File with the VAPID keys. If it is null, they are in a file beside the database, or in the PostgreSQL database. */
  readonly keyFile: string | null
  /** Whether push services may be in a private network or on this machine. */
  readonly allowPrivate: boolean
  /** File with the CA certificates in PEM to trust in addition to the well-known ones. */
  readonly caFile: string | null
}

export interface AckSettings {
  /** Minimum time between two acks for the same message, in milliseconds. */
  readonly minIntervalMs: number
  /**
   * Limit of acks per minute from one station to one sender. For all stations together, the limit is ten times as high.
   */
  readonly maxPerSenderPerMinute: number
}

export interface RateLimitSettings {
  readonly windowMs: number
  /** Limit of requests per client address and window. */
  readonly max: number
  /** Limit of new stations per client address and hour. */
  readonly newStationsPerHour: number
  /** Limit of open connections per client address. The connections of a trusted proxy are not counted. */
  readonly connectionsPerAddress: number
}

export interface StationsSettings {
  readonly max: number
  readonly expireAfterHours: number
  /** Callsigns that no station can register. A `*` at the end matches any ending. */
  readonly reserved: readonly string[]
  /** Blocked senders: their messages are dropped. A `*` at the end matches any ending. */
  readonly blockedSenders: readonly string[]
}

export interface BackupSettings {
  /** Folder for backups; null turns backups off. */
  readonly folder: string | null
  /** Number of backups to keep. */
  readonly keep: number
}
