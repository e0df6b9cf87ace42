import { API_ERRORS } from '../../errors.ts'

const SERVER_TIME = {
  type: 'integer',
  format: 'int64',
  description:
    'In milliseconds. The newest of all answers is the next since, once the messages that came with it are stored. One without messages may be older than the one before.',
}

const HASHES = {
  type: 'object',
  additionalProperties: { type: 'string' },
  description: "Hashes of those of the messages' senders that have an avatar, by station.",
}

const MESSAGES = { type: 'array', items: { $ref: '#/components/schemas/Message' }, description: 'Oldest first.' }

const MESSAGE = objectOf(
  {
    from: { type: 'string' },
    to: { type: 'string' },
    seqId: { type: 'string', description: 'What the sender put after the last {; empty when none.' },
    text: { type: 'string', description: 'UTF-8; where the bytes are not, read as Latin-1.' },
    time: {
      type: 'integer',
      format: 'int64',
      description: 'Server time at which it was stored, in milliseconds: no other message has it.',
    },
  },
  {
    textBytes: { type: 'string', contentEncoding: 'base64', description: 'The bytes, where they are not UTF-8.' },
  },
)

const AVATAR = objectOf({
  icon: { type: 'string' },
  image: { type: 'string', contentEncoding: 'base64', description: 'A 64x64 PNG, or empty.' },
  hash: { type: 'string', description: 'SHA-256 (hex) of icon, newline, image; of an icon alone icon:<name>.' },
})

const ERROR_ANSWER = objectOf(
  {
    error: { $ref: '#/components/schemas/ErrorCode' },
    message: { type: 'string', description: 'For developers: what is wrong and what to do.' },
  },
  {
    details: { type: 'array', items: { $ref: '#/components/schemas/ErrorDetail' } },
  },
)

/** What calls answer, as `/v1/openapi.json` publishes it; by the names that it has there. */
export const ANSWER_SCHEMAS = {
  RegisterAnswer: objectOf(
    {
      serverTime: SERVER_TIME,
      avatarHash: { type: 'string', description: 'What the server holds now; empty when none.' },
      avatars: HASHES,
    },
    { messages: { ...MESSAGES, description: 'Oldest first; there with wantHistory.' } },
  ),
  SyncAnswer: objectOf({ serverTime: SERVER_TIME, messages: MESSAGES, avatars: HASHES }),
  AvatarsAnswer: objectOf({
    serverTime: SERVER_TIME,
    avatars: {
      type: 'object',
      additionalProperties: { $ref: '#/components/schemas/Avatar' },
      description: 'Those of the stations that have one.',
    },
  }),
  UnregisterAnswer: objectOf({ serverTime: SERVER_TIME }),
  WebPushAnswer: objectOf({ publicKey: { type: 'string', description: 'Base64url (RFC 8292).' } }),
  Message: MESSAGE,
  Avatar: AVATAR,
  ErrorAnswer: ERROR_ANSWER,
  ErrorDetail: objectOf({
    path: { type: 'string', description: 'Where, as a JSON path.' },
    reason: { type: 'string' },
  }),
  // By a name of its own: generators name one that stands within a member after the member, which no client compiles
  // with.
  ErrorCode: { type: 'string', enum: Object.keys(API_ERRORS) },
} as const

/** Not closed: members may be added, and clients pass over those that they do not know. */
function objectOf(required: Readonly<Record<string, object>>, optional: Readonly<Record<string, object>> = {}) {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) }
}
