import type { ApiErrorCode, ErrorDetail } from '../../errors.ts'

/** Where a station's notifications go: FCM, APNs, or a push service by Web Push (RFC 8030). */
export type Platform = 'android' | 'ios' | 'webpush'

/** What every call says of who calls. */
export interface StationClaim {
  readonly callsign: string
  /** 0 to 99, or at most two of A-Z and 0-9; 0, `""`, `"0"` and null all mean none. */
  readonly ssid: number | string | null
  /** The passcode of the callsign. */
  readonly auth: number
}

/** What a call of one of the station's phones says of who calls. */
export interface DeviceClaim extends StationClaim {
  /**
   * 1 to 64 visible ASCII characters without blanks, which the app made at random once: a secret between it and the
   * sidecar. Without it, or null: the one device that has none.
   */
  readonly deviceId?: string | null
}

/** Body of `/v1/unregister`. */
export interface UnregisterBody extends DeviceClaim {
  /** As it was registered last. Required without `deviceId`, and not read with one. */
  readonly pushToken?: string | null
}

/** Body of `/v1/register`. An optional member may also be null. */
export interface RegisterBody extends DeviceClaim {
  readonly platform: Platform
  /** FCM's registration token, APNs' device token in hex, or the JSON text of a Web Push subscription. */
  readonly pushToken: string
  /** Whether the sidecar acknowledges messages in the station's name. */
  readonly ackMessages: boolean
  readonly wantHistory?: boolean | null
  /** Server time, in milliseconds. */
  readonly since?: number | null
  readonly avatarHash?: string | null
  readonly avatarIcon?: string | null
  /** Base64 of a 64x64 PNG. */
  readonly avatarImage?: string | null
  /** The whole avatar is in this call. */
  readonly avatarUpdate?: boolean | null
}

/** Body of `/v1/sync`. */
export interface SyncBody extends DeviceClaim {
  /** Server time, in milliseconds. */
  readonly since: number
}

/** Body of `/v1/avatars`. */
export interface AvatarsBody extends StationClaim {
  /** Stations as `CALL-SSID`, at most 50. */
  readonly stations: readonly string[]
}

/** A message as clients get it. */
export interface MessageRecord {
  readonly from: string
  readonly to: string
  /** What the sender put after the last `{`; empty when none. */
  readonly seqId: string
  readonly text: string
  /** Server time at which it was stored, in milliseconds: no other message has it. */
  readonly time: number
  /** The text's bytes in base64, where they are not UTF-8. */
  readonly textBytes?: string
}

/** A full avatar. */
export interface AvatarRecord {
  readonly icon: string
  /** Base64 of a 64x64 PNG, or empty. */
  readonly image: string
  /** SHA-256 (hex) of icon, newline, image; of an icon alone `icon:<name>`. */
  readonly hash: string
}

/** Server time in milliseconds is in every answer. */
export interface Stamped {
  readonly serverTime: number
}

/** 200 of `/v1/register`; of `avatars`, hashes of the messages' senders that have one, by station. */
export interface RegisterAnswer extends Stamped {
  /** What the server holds now; empty when none. */
  readonly avatarHash: string
  readonly avatars: Readonly<Record<string, string>>
  /** Oldest first; there with `wantHistory`. */
  readonly messages?: readonly MessageRecord[]
}

/** 200 of `/v1/sync`; of `avatars`, hashes of the messages' senders that have one, by station. */
export interface SyncAnswer extends Stamped {
  /** Oldest first, strictly newer than `since`. */
  readonly messages: readonly MessageRecord[]
  readonly avatars: Readonly<Record<string, string>>
}

/** 200 of `/v1/avatars`: those of the stations that have one. */
export interface AvatarsAnswer extends Stamped {
  readonly avatars: Readonly<Record<string, AvatarRecord>>
}

/** 200 of `GET /v1/webpush`. */
export interface WebPushAnswer {
  /** What apps subscribe with, base64url (RFC 8292). */
  readonly publicKey: string
}

/** Every answer that is not 200. */
export interface ErrorAnswer {
  readonly error: ApiErrorCode
  readonly message: string
  readonly details?: readonly ErrorDetail[]
}
