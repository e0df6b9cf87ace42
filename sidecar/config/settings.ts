import type { LogLevel } from '../log.ts'

/**
 * The finished configuration: file, then `SIDECAR_…` environment variables, then defaults; checked and frozen.
 * Member names are those of the JSON file (contracts, Sidecar). Paths are absolute.
 */
export interface Settings {
  readonly listen: ListenSettings
  readonly admin: { readonly host: string; readonly port: number }
  readonly aprsis: AprsisSettings
  /** SQLite file, `:memory:`, or the address of a PostgreSQL database, which may hold a password: not to be shown. */
  readonly database: string
  readonly databaseTls: DatabaseTlsSettings
  /** What this instance is called among those that share the database; null: like the machine. */
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
  /**
   * Whose `X-Forwarded-For` to believe: nobody's (false), the direct peer's (true), or that of these addresses and CIDR
   * ranges.
   */
  readonly trustProxy: boolean | readonly string[]
}

export interface AprsisSettings {
  readonly host: string
  readonly port: number
  /** The server's own login, upper case, with or without SSID. */
  readonly callsign: string
  /** -1 logs in unverified: messages arrive, acks cannot be sent. */
  readonly passcode: number
  readonly maxConnections: number
  /** Adds `b/` terms: the stations' own outgoing traffic too. */
  readonly trackOutgoing: boolean
  readonly filterDebounceMs: number
  /** How many of the instances that share the database listen at a time. */
  readonly listeners: number
  /** Whether this instance may be one of them. */
  readonly listen: boolean
}

export interface HistorySettings {
  readonly perStation: number
  /** Horizons of duplicate detection: of messages with a sequence id, and of those without one. */
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
  /** `https://host:port` that takes the place of Google's, its token host included. */
  readonly endpoint: string | null
  /** CA certificates in PEM to trust for `endpoint`. */
  readonly caFile: string | null
}

/** Off while `keyFile` is null; then `keyId`, `teamId` and `topic` are set too. */
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
  /** Whom a push service may write to about this server: `mailto:` or `https:` (RFC 8292, 2.1). */
  readonly subject: string | null
  /** Where the VAPID keys are kept; null: beside the database. */
  readonly keyFile: string | null
  /** Endpoints may be in private networks, and on this machine. */
  readonly allowPrivate: boolean
  /** CA certificates in PEM to trust beside the well-known ones. */
  readonly caFile: string | null
}

export interface AckSettings {
  /** Least time between two acks for the same message, in milliseconds. */
  readonly minIntervalMs: number
  /** Acks of one sender and station; of one sender and all stations together ten times as many. */
  readonly maxPerSenderPerMinute: number
}

export interface RateLimitSettings {
  readonly windowMs: number
  /** Requests per client address in a window. */
  readonly max: number
  /** Stations that one client address may newly register in an hour. */
  readonly newStationsPerHour: number
  /** Connections that one client address may have open at a time; those of a trusted proxy are not counted. */
  readonly connectionsPerAddress: number
}

export interface StationsSettings {
  readonly max: number
  readonly expireAfterHours: number
  /** Calls that nobody can register; a final `*` stands for any end. */
  readonly reserved: readonly string[]
  /** Calls whose messages are dropped; likewise. */
  readonly blockedSenders: readonly string[]
}

export interface BackupSettings {
  /** Null: no backups are made. */
  readonly folder: string | null
  /** How many of the newest are kept. */
  readonly keep: number
}
