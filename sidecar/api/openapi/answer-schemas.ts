import { API_ERRORS } from '../../errors.ts'

const SERVER_TIME = {
  type: 'integer',
  format: 'int64',
  description:
    "In milliseconds. After storing an answer's messages, send the newest server time of all answers so far as the next since. An answer without messages may have an older server time than the previous answer.",
}

const HASHES = {
  type: 'object',
  additionalProperties: { type: 'string' },
  description: "Avatar hashes of the messages' senders, by station; only senders that have an avatar.",
}

const MESSAGES = { type: 'array', items: { $ref: '#/components/schemas/Message' }, description: 'Oldest first.' }

const ACKS = {
  type: 'array',
  items: { $ref: '#/components/schemas/Ack' },
  description:
    'Acks and rejections of messages that the station sent, newer than since, oldest first; present with wantAcks.',
}

const TRUNCATED = {
  type: 'boolean',
  description:
    "True if messages newer than since are missing, because newer ones replaced them in the station's ring; otherwise absent.",
}

const MESSAGE = objectOf(
  {
    from: { type: 'string' },
    to: { type: 'string' },
    seqId: { type: 'string', description: 'The text after the last { of the message; empty if there is none.' },
    text: { type: 'string', description: 'Decoded as UTF-8, or as Latin-1 if the bytes are not UTF-8.' },
    time: {
      type: 'integer',
      format: 'int64',
      description: 'Server time of storing the message, in milliseconds; unique.',
    },
  },
  {
    textBytes: {
      type: 'string',
      contentEncoding: 'base64',
      description: 'The bytes of the text, if they are not UTF-8.',
    },
  },
)

const ACK = objectOf({
  from: { type: 'string', description: 'The station that sent it.' },
  seqId: { type: 'string', description: 'The sequence id of the acknowledged message, as received.' },
  kind: { $ref: '#/components/schemas/AckKind' },
  time: { type: 'integer', format: 'int64', description: 'Server time of storing it, in milliseconds; unique.' },
})

const AVATAR = objectOf({
  icon: { type: 'string' },
  image: { type: 'string', contentEncoding: 'base64', description: 'A 64x64 PNG, or empty.' },
  hash: {
    type: 'string',
    description: "SHA-256 (hex) of icon, newline and image. Without an image: icon: and the icon's name, not hashed.",
  },
})

const ERROR_ANSWER = objectOf(
  {
    error: { $ref: '#/components/schemas/ErrorCode' },
    message: { type: 'string', description: 'For developers: what is wrong, and what to do.' },
  },
  {
    details: { type: 'array', items: { $ref: '#/components/schemas/ErrorDetail' } },
  },
)

/** Schemas of the answers, by their names in `/v1/openapi.json`. */
export const ANSWER_SCHEMAS = {
  RegisterAnswer: objectOf(
    {
      serverTime: SERVER_TIME,
      avatarHash: { type: 'string', description: 'Hash of the stored avatar; empty if there is none.' },
      avatars: HASHES,
    },
    {
      messages: { ...MESSAGES, description: 'Oldest first; present with wantHistory.' },
      acks: ACKS,
      truncated: TRUNCATED,
    },
  ),
  SyncAnswer: objectOf(
    { serverTime: SERVER_TIME, messages: MESSAGES, avatars: HASHES },
    { acks: ACKS, truncated: TRUNCATED },
  ),
  AvatarsAnswer: objectOf({
    serverTime: SERVER_TIME,
    avatars: {
      type: 'object',
      additionalProperties: { $ref: '#/components/schemas/Avatar' },
      description: 'The avatars of the stations that have one.',
    },
  }),
  UnregisterAnswer: objectOf({ serverTime: SERVER_TIME }),
  WebPushAnswer: objectOf({ publicKey: { type: 'string', description: 'Base64url (RFC 8292).' } }),
  Message: MESSAGE,
  Ack: ACK,
  // Not an inline enum, because some code generators would produce code that does not compile.
  AckKind: { type: 'string', enum: ['ack', 'rej'] },
  Avatar: AVATAR,
  ErrorAnswer: ERROR_ANSWER,
  ErrorDetail: objectOf({
    path: { type: 'string', description: 'Where the mistake is, as a JSON path.' },
    reason: { type: 'string' },
  }),
  // The error codes need a schema of their own. Some code generators name an inline enum after its property, and the
  // generated code would then not compile.
  ErrorCode: { type: 'string', enum: Object.keys(API_ERRORS) },
} as const

/**
 * Returns a schema that permits additional members. Later versions may add members, and clients ignore unknown ones.
 */
function objectOf(required: Readonly<Record<string, object>>, optional: Readonly<Record<string, object>> = {}) {
  return { type: 'object', properties: { ...required, ...optional }, required: Object.keys(required) }
}
