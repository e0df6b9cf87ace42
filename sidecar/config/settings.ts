import type { LogLevel } from '../log.ts'

/**
 * The finished configuration: file, then `SIDECAR_…` environment variables, then defaults; checked and frozen.
 * Member names are those of the JSON file (contracts, Sidecar). Paths are absolute.
 */
export interface Settings {
  readonly listen: ListenSettings
  readonly admin: { readonly host: string; readonly port: number }
  readonly aprsis: AprsisSettings
  /** SQLite file, or `:memory:`. */
  readonly database: string
  readonly history: HistorySettings
  readonly push: PushSettings
  readonly ack: AckSettings
  readonly rateLimit: RateLimitSettings
  readonly stations: StationsSettings
  readonly backup: BackupSettings
  readonly log: { readonly level: LogLevel }
}

export interface ListenSettings {
  readonly host: string
  /** 0 means any free port. */
  readonly port: number
  readonly certFile: string | null
  readonly keyFile: string | null
  /** Whose `X-Forwarded-For` to believe: nobody's (false), the direct peer's (true), or that of these addresses and CIDR ranges. */
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
}

export interface HistorySettings {
  readonly perStation: number
  /** Horizon of duplicate detection in hours; null: however old. */
  readonly duplicateHours: number | null
}

export interface PushSettings {
  readonly coalesceMs: number
  readonly fcm: FcmSettings
  readonly apns: ApnsSettings
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

export interface AckSettings {
  /** Least time between two acks for the same message, in milliseconds. */
  readonly minIntervalMs: number
  readonly maxPerSenderPerMinute: number
}

export interface RateLimitSettings {
  readonly windowMs: number
  /** Requests per client address in a window. */
  readonly max: number
  /** Stations that one client address may newly register in an hour. */
  readonly newStationsPerHour: number
}

export interface StationsSettings {
  readonly max: number
  readonly expireAfterHours: number
}

export interface BackupSettings {
  /** Null: no backups are made. */
  readonly folder: string | null
  /** How many of the newest are kept. */
  readonly keep: number
}
