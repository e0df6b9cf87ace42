import type { ApiErrorCode, ErrorDetail } from '../../errors.ts'

/** The platform of a device, which decides its push gateway: FCM, APNs, or a Web Push service (RFC 8030). */
export type Platform = 'android' | 'ios' | 'webpush'

/** The members of every request that identify the station. */
export interface StationClaim {
  readonly callsign: string
  /** The SSID: 0 to 99, or at most two characters of A-Z and 0-9. 0, `""`, `"0"` and null all mean none. */
  readonly ssid: number | string | null
  /** The APRS-IS passcode of the callsign. */
  readonly auth: number
}

/** The members of a request that identify one phone of a station. */
export interface DeviceClaim extends StationClaim {
  /**
   * The phone's secret id, chosen once at random: 1 to 64 visible ASCII characters without spaces. Absent or null for
   * the one device without an id.
   */
  readonly deviceId?: string | null
}

/** Body of `/v1/unregister`. */
export interface UnregisterBody extends DeviceClaim {
  /** The push token that the phone registered last. Required without `deviceId`, ignored with it. */
  readonly pushToken?: string | null
}

/** Body of `/v1/register`. An optional member may also be null. */
export interface RegisterBody extends DeviceClaim {
  readonly platform: Platform
  /**
   * The push token: FCM's registration token, APNs' device token in hex, or the JSON text of a Web Push subscription.
   */
  readonly pushToken: string
  /** Whether the sidecar acknowledges messages in the station's name. */
  readonly ackMessages: boolean
  readonly wantHistory?: boolean | null
  /**
   * The blocked senders: this phone does not get their messages. Up to 50 callsigns. A `*` at the end of an entry
   * matches any ending.
   */
  readonly blocked?: readonly string[] | null
  /** Whether this phone also receives messages addressed to other SSIDs of its callsign. */
  readonly anySsid?: boolean | null
  /** Whether answers to this phone include the acks and rejections that the station received. */
  readonly wantAcks?: boolean | null
  /**
   * The device's cursor, as server time in milliseconds. With `wantHistory`, the answer contains the messages that are
   * newer.
   */
  readonly since?: number | null
  readonly avatarHash?: string | null
  readonly avatarIcon?: string | null
  /** The avatar's image: a 64x64 PNG in base64. */
  readonly avatarImage?: string | null
  /** Whether this request contains the whole avatar, which then replaces the stored one. */
  readonly avatarUpdate?: boolean | null
}

/** Body of `/v1/sync`. */
export interface SyncBody extends DeviceClaim {
  /** The device's cursor, as server time in milliseconds. The answer contains the messages that are newer. */
  readonly since: number
}

/** Body of `/v1/avatars`. */
export interface AvatarsBody extends StationClaim {
  /** Stations as `CALL` or `CALL-SSID`, at most 50. */
  readonly stations: readonly string[]
}

/** A message in the API's answers. */
export interface MessageRecord {
  readonly from: string
  readonly to: string
  /** The message number, which follows the last `{` of the message; empty if it has none. */
  readonly seqId: string
  readonly text: string
  /** Server time at which the message was stored, in milliseconds. It is unique. */
  readonly time: number
  /** The bytes of the text in base64; absent if the text is valid UTF-8. */
  readonly textBytes?: string
}

/** An ack or a rejection of a message that the station sent. */
export interface AckRecord {
  /** The station that sent the ack or the rejection. */
  readonly from: string
  /** The message number of the acknowledged message, as received. */
  readonly seqId: string
  readonly kind: 'ack' | 'rej'
  /** Server time at which the ack was stored, in milliseconds. It is unique among messages and acks. */
  readonly time: number
}

/** A full avatar. */
export interface AvatarRecord {
  readonly icon: string
  /** Base64 of a 64x64 PNG, or empty. */
  readonly image: string
  /** For an image, the SHA-256 of icon, newline and image, in hex. For an icon alone, `icon:<name>`. */
  readonly hash: string
}

/** The member that every answer has: the server time, in milliseconds. */
export interface Stamped {
  readonly serverTime: number
}

/** Answer of `/v1/register`. `avatars` has the avatar hashes of the messages' senders, by station. */
export interface RegisterAnswer extends Stamped {
  /** Hash of the stored avatar; empty if there is none. */
  readonly avatarHash: string
  readonly avatars: Readonly<Record<string, string>>
  /** Messages newer than `since`, oldest first; present with `wantHistory`. */
  readonly messages?: readonly MessageRecord[]
  /** Acks and rejections newer than `since`, oldest first; present if the request has `wantHistory` and `wantAcks`. */
  readonly acks?: readonly AckRecord[]
  /**
   * Present if messages newer than `since` are missing, because the server keeps only the station's newest messages.
   */
  readonly truncated?: true
}

/** Answer of `/v1/sync`. `avatars` has the avatar hashes of the messages' senders, by station. */
export interface SyncAnswer extends Stamped {
  /** Messages strictly newer than `since`, oldest first. */
  readonly messages: readonly MessageRecord[]
  readonly avatars: Readonly<Record<string, string>>
  /** Acks and rejections newer than `since`, oldest first; present if the phone registered with `wantAcks`. */
  readonly acks?: readonly AckRecord[]
  /**
   * Present if messages newer than `since` are missing, because the server keeps only the station's newest messages.
   */
  readonly truncated?: true
}

/** Answer of `/v1/avatars`: the avatars of the requested stations. A station that has no avatar is absent. */
export interface AvatarsAnswer extends Stamped {
  readonly avatars: Readonly<Record<string, AvatarRecord>>
}

/** Answer of `GET /v1/webpush`. */
export interface WebPushAnswer {
  /** The public key that apps need to subscribe, in base64url (RFC 8292). */
  readonly publicKey: string
}

/** Every answer with a status other than 200. */
export interface ErrorAnswer {
  readonly error: ApiErrorCode
  readonly message: string
  readonly details?: readonly ErrorDetail[]
}
