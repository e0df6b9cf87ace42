import type { LogLevel } from '../log.ts'

/**
 * The complete configuration, checked and frozen: `SIDECAR_…` environment variables, then the file, then defaults.
 * Member names are those of the JSON file (contracts, Sidecar). Paths are absolute.
 */
export interface Settings {
  readonly listen: ListenSettings
  readonly admin: { readonly host: string; readonly port: number }
  readonly aprsis: AprsisSettings
  /** SQLite file, `:memory:`, or the address of a PostgreSQL database, which may have a password. Never show it. */
  readonly database: string
  readonly databaseTls: DatabaseTlsSettings
  /** Name of this instance among those that share the database; null: the machine's name. */
  readonly instance: string | null
  readonly history: HistorySettings
  readonly push: PushSettings
  readonly ack: AckSettings
  readonly rateLimit: RateLimitSettings
  readonly stations: StationsSettings
  readonly backup: BackupSettings
  readonly log: { readonly level: LogLevel }
}

export interface DatabaseTlsSettings {
  /** CA certificates in PEM to trust for a PostgreSQL database. */
  readonly caFile: string | null
}

export interface ListenSettings {
  readonly host: string
  /** 0 means any free port. */
  readonly port: number
  readonly certFile: string | null
  readonly keyFile: string | null
  /** Peers whose `X-Forwarded-For` is trusted: none (false), every peer (true), or these addresses and CIDR ranges. */
  readonly trustProxy: boolean | readonly string[]
}

export interface AprsisSettings {
  readonly host: string
  readonly port: number
  /** The sidecar's own login, upper case, with or without SSID. */
  readonly callsign: string
  /** -1 logs in unverified: messages arrive, acks cannot be sent. */
  readonly passcode: number
  readonly maxConnections: number
  /** Adds `b/` terms to the filters, for the stations' own outgoing traffic. */
  readonly trackOutgoing: boolean
  readonly filterDebounceMs: number
  /** Number of instances that listen at a time, of those that share the database. */
  readonly listeners: number
  /** Whether this instance may be one of them. */
  readonly listen: boolean
}

export interface HistorySettings {
  readonly perStation: number
  /** Time window of duplicate detection for messages with a sequence id. `duplicateSecondsUnnumbered`: without one. */
  readonly duplicateMinutes: number
  readonly duplicateSecondsUnnumbered: number
}

export interface PushSettings {
  readonly coalesceMs: number
  readonly fcm: FcmSettings
  readonly apns: ApnsSettings
  readonly webpush: WebPushSettings
}

/** Off while `serviceAccountFile` is null. */
export interface FcmSettings {
  readonly serviceAccountFile: string | null
  /** `https://host:port` that replaces Google's servers, the token host included. */
  readonly endpoint: string | null
  /** CA certificates in PEM to trust for `endpoint`. */
  readonly caFile: string | null
}

/** Off while `keyFile` is null. Otherwise `keyId`, `teamId` and `topic` are set too. */
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

/** Off while `subject` is null. */
export interface WebPushSettings {
  /** Contact of the operator for push services: `mailto:` or `https:` (RFC 8292, 2.1). */
  readonly subject: string | null
  /** File with the VAPID keys; null: beside the database, or in PostgreSQL. */
  readonly keyFile: string | null
  /** Whether endpoints may be in private networks and on this machine. */
  readonly allowPrivate: boolean
  /** CA certificates in PEM to trust in addition to the well-known ones. */
  readonly caFile: string | null
}

export interface AckSettings {
  /** Least time between two acks for the same message, in milliseconds. */
  readonly minIntervalMs: number
  /** Acks per sender and station. For all stations together, a sender gets ten times as many. */
  readonly maxPerSenderPerMinute: number
}

export interface RateLimitSettings {
  readonly windowMs: number
  /** Requests per client address in a window. */
  readonly max: number
  /** Stations that one client address may newly register in an hour. */
  readonly newStationsPerHour: number
  /** Open connections per client address; those of a trusted proxy are not counted. */
  readonly connectionsPerAddress: number
}

export interface StationsSettings {
  readonly max: number
  readonly expireAfterHours: number
  /** Callsigns that no station can register. A final `*` matches any ending. */
  readonly reserved: readonly string[]
  /** Callsigns whose messages are dropped. A final `*` matches any ending. */
  readonly blockedSenders: readonly string[]
}

export interface BackupSettings {
  /** Null: no backups are made. */
  readonly folder: string | null
  /** Number of backups to keep. */
  readonly keep: number
}
