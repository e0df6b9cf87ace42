import { API_ERRORS, type ApiErrorCode } from '../../errors.ts'
import { BODY_SCHEMAS, type BodySchema } from '../requests/body-schemas.ts'
import { ANSWER_SCHEMAS } from './answer-schemas.ts'
import { PUSH_SCHEMAS, WEBHOOKS } from './push-schemas.ts'

type AnswerName = keyof typeof ANSWER_SCHEMAS

/** Errors that every POST endpoint may return. */
const ALWAYS: readonly ApiErrorCode[] = [
  'invalid_request',
  'wrong_passcode',
  'too_large',
  'unsupported_media_type',
  'internal',
  'overloaded',
]

const ANY_SERVER = {
  url: '{address}',
  description: 'Any sidecar. Write its address if your client was generated from a file.',
  variables: {
    address: { default: 'https://aprs.example.org', description: 'Address of the sidecar, without /v1.' },
  },
}

/** The answer to a request that exceeds a rate limit. It has no body. */
const OVER_LIMIT = {
  429: {
    description:
      'Over a rate limit, behind a proxy: no body. Without a proxy, the connection closes without an answer. Try again after 2 to 4 seconds, and double the pause after each failure, up to 15 minutes.',
  },
}

/**
 * Returns the description of the API as an OpenAPI 3.1 document. Its schemas are those that validate requests. Source:
 * OpenAPI Specification 3.1.
 */
export function openApiDocument() {
  return {
    openapi: '3.1.1',
    info: {
      title: 'mesh-companion sidecar',
      version: '1',
      description:
        'Push, sync and avatars for an APRS messaging app. Over a rate limit the connection ends without an answer (behind a proxy: status 429 without a body). Unknown members are ignored, in requests and in answers. The webhooks are what phones receive from their push gateways.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // The first URL is relative to the document, so it is correct behind any proxy.
    servers: [{ url: '..', description: 'Where this document was fetched from.' }, ANY_SERVER],
    paths: paths(),
    webhooks: WEBHOOKS,
    components: {
      schemas: {
        RegisterBody: forClients(BODY_SCHEMAS.register),
        SyncBody: forClients(BODY_SCHEMAS.sync),
        AvatarsBody: forClients(BODY_SCHEMAS.avatars),
        UnregisterBody: forClients(BODY_SCHEMAS.unregister),
        ...ANSWER_SCHEMAS,
        ...PUSH_SCHEMAS,
      },
    },
  }
}

/**
 * Returns the document for the package, without a relative server URL: some code generators turn `..` into `http://..`.
 */
export function packagedDocument() {
  return { ...openApiDocument(), servers: [ANY_SERVER] }
}

function paths() {
  return {
    '/v1/register': post(
      'register',
      'Registers a device of a station; also its heartbeat every 6 hours',
      ref('RegisterBody'),
      'RegisterAnswer',
      ['reserved', 'devices_full', 'not_registered', 'full'],
    ),
    '/v1/sync': post(
      'sync',
      'Returns the messages that a device missed since its cursor',
      ref('SyncBody'),
      'SyncAnswer',
      ['not_registered'],
    ),
    '/v1/avatars': post(
      'avatars',
      'Returns the full avatars of up to 50 stations',
      ref('AvatarsBody'),
      'AvatarsAnswer',
      ['not_registered'],
    ),
    '/v1/unregister': post(
      'unregister',
      'Removes a device; if it is the last of its station, also the station and its history',
      ref('UnregisterBody'),
      'UnregisterAnswer',
      ['wrong_token', 'not_registered'],
    ),
    '/v1/webpush': {
      get: {
        operationId: 'webPush',
        summary: 'Returns the key that apps subscribe with; not_found while Web Push is off',
        responses: {
          200: answer('The key', ref('WebPushAnswer')),
          ...refusals(['not_found', 'too_large', 'internal']),
          ...OVER_LIMIT,
        },
      },
    },
    '/v1/openapi.json': {
      get: {
        operationId: 'openApi',
        summary: 'Returns this document',
        responses: {
          200: answer('This document', { type: 'object' }),
          ...refusals(['too_large', 'internal']),
          ...OVER_LIMIT,
        },
      },
    },
  }
}

/**
 * Returns a request schema for clients. It permits only a string as SSID, because code generators cannot handle a
 * member with several types.
 */
function forClients(schema: BodySchema): BodySchema {
  return { ...schema, properties: { ...schema.properties, ssid: { ...schema.properties.ssid, type: 'string' } } }
}

function post(
  operationId: string,
  summary: string,
  body: object,
  answerName: AnswerName,
  codes: readonly ApiErrorCode[],
): object {
  return {
    post: {
      operationId,
      summary,
      requestBody: { required: true, content: { 'application/json': { schema: body } } },
      responses: { 200: answer(summary, ref(answerName)), ...refusals([...ALWAYS, ...codes]), ...OVER_LIMIT },
    },
  }
}

/** Returns the OpenAPI responses for the error `codes`, by status. */
function refusals(codes: readonly ApiErrorCode[]): Readonly<Record<number, object>> {
  const statuses = new Set(codes.map((code) => API_ERRORS[code].status))
  return Object.fromEntries(
    [...statuses].map((status) => {
      const sameStatus = codes.filter((code) => API_ERRORS[code].status === status)
      return [
        status,
        answer(sameStatus.map((code) => `${code}: ${API_ERRORS[code].message}`).join(' '), ref('ErrorAnswer')),
      ]
    }),
  )
}

function answer(description: string, schema: object): object {
  return { description, content: { 'application/json': { schema } } }
}

function ref(name: string): object {
  return { $ref: `#/components/schemas/${name}` }
}
