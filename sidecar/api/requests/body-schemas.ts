import type { Platform } from '../../client/wire/bodies.ts'
import { BLOCKED_ENTRY, MAX_BLOCKED } from '../../messages/devices/blocked-senders.ts'
import { PLATFORMS } from '../../messages/store.ts'

/** Limit of stations in a request to `/v1/avatars`. Source: section Limits of the specification. */
const MAX_STATIONS_PER_CALL = 50

/**
 * Limit of a push token, in characters. FCM and APNs tokens are far shorter, but the vendors sometimes change their
 * length.
 */
const MAX_TOKEN_CHARACTERS = 4096

/** JSON Schema of a request body. */
export interface BodySchema {
  readonly type: 'object'
  readonly properties: Members
  readonly required: readonly string[]
}

type Members = Readonly<Record<string, object>>

const CLAIM: Members = {
  callsign: {
    type: 'string',
    description: 'Letters A-Z and digits, without SSID; at most 9 characters together with dash and SSID.',
  },
  ssid: {
    type: ['integer', 'string', 'null'],
    description: 'At most two of A-Z and 0-9; "" and "0" mean none. An integer from 0 to 99 and null are accepted too.',
  },
  auth: { type: 'integer', format: 'int32', description: 'The APRS passcode of the callsign.' },
}

const SINCE = {
  type: 'integer',
  format: 'int64',
  description: 'Cursor: the newest server time whose messages the client has stored.',
}

/** The pattern of a device id. */
export const DEVICE_ID = '^[\\x21-\\x7e]{1,64}$'

const DEVICE: Members = {
  deviceId: {
    type: ['string', 'null'],
    pattern: DEVICE_ID,
    description:
      'Identifies the phone among those of the station: random, made once by the app, and secret. Null means none.',
  },
}

const OPTIONS: Members = {
  blocked: {
    type: ['array', 'null'],
    items: { type: 'string', pattern: BLOCKED_ENTRY },
    maxItems: MAX_BLOCKED,
    description:
      'Senders whose messages this phone does not get: each a callsign, or a prefix of callsigns followed by *.',
  },
  anySsid: {
    type: ['boolean', 'null'],
    description:
      'Whether this phone also gets the messages to the other SSIDs of its callsign. The member to of each message names the SSID.',
  },
  wantAcks: {
    type: ['boolean', 'null'],
    description: 'Whether answers to this phone include the acks and rejections that the station received.',
  },
}

const OPTIONAL_AT_REGISTER: Members = {
  ...DEVICE,
  ...OPTIONS,
  wantHistory: { type: ['boolean', 'null'], description: 'Whether the answer includes the messages newer than since.' },
  since: { ...SINCE, type: ['integer', 'null'] },
  avatarHash: {
    type: ['string', 'null'],
    description:
      "SHA-256 (hex) of icon, newline and image. Without an image: icon: and the icon's name, not hashed. Empty for no avatar.",
  },
  avatarIcon: {
    type: ['string', 'null'],
    description: 'Name of a built-in icon; ignored unless avatarUpdate is true.',
  },
  avatarImage: {
    type: ['string', 'null'],
    description: 'Base64 of a 64x64 PNG, at most 24,000 characters; ignored unless avatarUpdate is true.',
  },
  avatarUpdate: {
    type: ['boolean', 'null'],
    description: 'True: this request has the whole avatar; empty icon, image and hash clear it.',
  },
}

/** Schemas that validate a body before its endpoint reads it. `/v1/openapi.json` publishes them. */
export const BODY_SCHEMAS = {
  register: bodySchema(
    {
      platform: { type: 'string', enum: PLATFORMS satisfies readonly Platform[] },
      pushToken: {
        type: 'string',
        maxLength: MAX_TOKEN_CHARACTERS,
        description:
          'For android the registration token from FCM; for ios the device token in hex; for webpush the JSON text of a push subscription: { "endpoint", "keys": { "p256dh", "auth" } }.',
      },
      ackMessages: { type: 'boolean', description: "Whether the sidecar acknowledges messages in the station's name." },
    },
    OPTIONAL_AT_REGISTER,
  ),
  sync: bodySchema({ since: SINCE }, DEVICE),
  avatars: bodySchema({
    stations: {
      type: 'array',
      items: { type: 'string' },
      maxItems: MAX_STATIONS_PER_CALL,
      description: 'Stations as CALL or CALL-SSID.',
    },
  }),
  unregister: bodySchema(
    {},
    {
      ...DEVICE,
      pushToken: {
        type: ['string', 'null'],
        maxLength: MAX_TOKEN_CHARACTERS,
        description: 'The token that was registered last. Required without deviceId, ignored with it.',
      },
    },
  ),
} as const satisfies Readonly<Record<string, BodySchema>>

function bodySchema(required: Members, optional: Members = {}): BodySchema {
  return {
    type: 'object',
    properties: { ...CLAIM, ...optional, ...required },
    required: [...Object.keys(CLAIM), ...Object.keys(required)],
  }
}
