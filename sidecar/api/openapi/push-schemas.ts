import type { PushPayload, WebPushMessage } from '../../client/wire/push-payload.ts'

type Keys<Payload> = { readonly [Key in keyof Payload]-?: object }

/** The data keys of a push. All values are strings, because FCM accepts no other type. */
const DATA = {
  fromCall: text('Sender of the newest message.'),
  seqId: text('Sequence id of the newest message; empty if it has none.'),
  to: text('The station to which the newest message is addressed.'),
  count: { type: 'string', pattern: '^[0-9]+$', description: 'Number of messages that the push announces.' },
  collapseId: text('aprs-, in a test aprs-test-, and the station. A later push with the same value replaces this one.'),
  fromAvatarHash: text("Hash of the sender's avatar, if it has one."),
  fromAvatarIcon: text("Name of the icon in the sender's avatar, if it has one."),
  fromAvatarImage: {
    type: 'string',
    contentEncoding: 'base64',
    maxLength: 3000,
    description:
      "The image in the sender's avatar, a 64x64 PNG. Absent if it is longer, or does not fit into the push.",
  },
  fromAvatarCleared: { type: 'string', const: '1', description: 'Present if the sender removed its avatar.' },
} as const satisfies Keys<PushPayload>

/** The keys of {@link DATA} that are in every push. */
const ALWAYS = ['fromCall', 'seqId', 'to', 'count', 'collapseId'] as const satisfies readonly (keyof PushPayload)[]

const BANNER = {
  title: text('First line of the notification.'),
  body: text('Text of the notification, without control characters.'),
} as const satisfies Keys<Omit<WebPushMessage, keyof PushPayload>>

/**
 * Schemas of the pushes that a phone receives, by their names in `/v1/openapi.json`. Source: section Push data payload
 * of the specification.
 */
export const PUSH_SCHEMAS = {
  AndroidPush: payload(DATA, ALWAYS, "The map data of FCM's message. Android shows the notification by itself."),
  IosPush: payload(
    { ...DATA, aps: { $ref: '#/components/schemas/Aps' } },
    [...ALWAYS, 'aps'],
    'The payload that APNs delivers: userInfo of the notification.',
  ),
  WebPush: payload(
    { ...DATA, ...BANNER },
    [...ALWAYS, ...Object.keys(BANNER)],
    'The decrypted JSON text that a push service delivers (RFC 8291).',
  ),
  Aps: payload(
    {
      alert: { $ref: '#/components/schemas/ApsAlert' },
      sound: text('The default sound.'),
      'thread-id': text('Groups the banners of a station; equals collapseId.'),
      'mutable-content': {
        type: 'integer',
        format: 'int32',
        description: '1: a service extension of the app may change the notification before iOS shows it.',
      },
    },
    ['alert', 'sound', 'thread-id', 'mutable-content'],
    "Apple's part of the payload.",
  ),
  ApsAlert: payload(BANNER, Object.keys(BANNER), 'What iOS shows.'),
} as const

/** The pushes as OpenAPI webhooks. The platform's push gateway delivers each to the app, which sends no answer. */
export const WEBHOOKS = {
  androidPush: webhook('AndroidPush', 'FCM delivers this to an app with the platform android'),
  iosPush: webhook('IosPush', 'APNs delivers this to an app with the platform ios'),
  webPush: webhook('WebPush', 'A push service delivers this to an app with the platform webpush'),
} as const

function text(description: string) {
  return { type: 'string', description } as const
}

/** Returns a schema that permits additional members, because later versions may add some. */
function payload(properties: Readonly<Record<string, object>>, required: readonly string[], description: string) {
  return { type: 'object', description, properties, required }
}

function webhook(name: keyof typeof PUSH_SCHEMAS, summary: string) {
  return {
    post: {
      operationId: `receive${name}`,
      // openapi-generator writes one file per tag. Without this tag, the file of the webhooks would overwrite the file
      // of the requests.
      tags: ['Pushes'],
      summary,
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
      },
      responses: { 200: { description: 'The app received the push. It sends no answer to the sidecar.' } },
    },
  }
}
