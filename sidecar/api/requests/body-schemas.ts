import type { Platform } from '../../client/wire/bodies.ts'
import { PLATFORMS } from '../../messages/store.ts'

/** Source: Limits, stations per `/v1/avatars` request. */
const MAX_STATIONS_PER_CALL = 50

/** Both vendors' tokens are far shorter; they change their length now and then. */
export const MAX_TOKEN_CHARACTERS = 4096

/** JSON Schema of one body. */
export interface BodySchema {
  readonly type: 'object'
  readonly properties: Members
  readonly required: readonly string[]
}

type Members = Readonly<Record<string, object>>

const CLAIM: Members = {
  callsign: {
    type: 'string',
    description: 'Letters A-Z and digits, without SSID; with dash and SSID at most 9 characters.',
  },
  ssid: {
    type: ['integer', 'string', 'null'],
    description: 'An integer from 0 to 99, or at most two of A-Z and 0-9; 0, "", "0" and null all mean none.',
  },
  auth: { type: 'number', description: 'The APRS passcode of the callsign.' },
}

const OPTIONAL_AT_REGISTER: Members = {
  wantHistory: { type: ['boolean', 'null'], description: 'Whether the answer brings the messages newer than since.' },
  since: { type: ['number', 'null'], description: 'Cursor: the newest server time whose messages are stored.' },
  avatarHash: {
    type: ['string', 'null'],
    description: 'SHA-256 (hex) of icon, newline, image; of an icon alone icon:<name>; of no avatar empty.',
  },
  avatarIcon: { type: ['string', 'null'], description: 'Name of a built-in icon; read with avatarUpdate only.' },
  avatarImage: {
    type: ['string', 'null'],
    description: 'Base64 of a 64x64 PNG, at most 24,000 characters; read with avatarUpdate only.',
  },
  avatarUpdate: {
    type: ['boolean', 'null'],
    description: 'True: this call brings the whole avatar; with icon, image and hash empty it is cleared.',
  },
}

/** What is checked before a call looks at a body, and what `/v1/openapi.json` publishes. */
export const BODY_SCHEMAS = {
  registerWithToken: registerWith({
    type: 'string',
    pattern: `^[\\x21-\\x7e]{1,${MAX_TOKEN_CHARACTERS}}$`,
    description: 'What FCM gave the app; on iOS the device token in hex.',
  }),
  registerWithSubscription: registerWith({
    type: 'string',
    maxLength: MAX_TOKEN_CHARACTERS,
    description: 'The JSON text of a push subscription: { "endpoint", "keys": { "p256dh", "auth" } }.',
  }),
  sync: bodySchema({
    since: { type: 'number', description: 'Cursor: the newest server time whose messages are stored.' },
  }),
  avatars: bodySchema({
    stations: {
      type: 'array',
      items: { type: 'string' },
      maxItems: MAX_STATIONS_PER_CALL,
      description: 'Stations as CALL or CALL-SSID.',
    },
  }),
  unregister: bodySchema({}),
} as const satisfies Readonly<Record<string, BodySchema>>

function registerWith(pushToken: object): BodySchema {
  const platform = { type: 'string', enum: PLATFORMS satisfies readonly Platform[] }
  const ackMessages = {
    type: 'boolean',
    description: "Whether the sidecar acknowledges messages in the station's name.",
  }
  return bodySchema({ platform, pushToken, ackMessages }, OPTIONAL_AT_REGISTER)
}

function bodySchema(required: Members, optional: Members = {}): BodySchema {
  return {
    type: 'object',
    properties: { ...CLAIM, ...optional, ...required },
    required: [...Object.keys(CLAIM), ...Object.keys(required)],
  }
}
