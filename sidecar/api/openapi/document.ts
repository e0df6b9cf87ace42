import { API_ERRORS, type ApiErrorCode } from '../../errors.ts'
import { BODY_SCHEMAS, type BodySchema } from '../requests/body-schemas.ts'
import { ANSWER_SCHEMAS } from './answer-schemas.ts'

type AnswerName = keyof typeof ANSWER_SCHEMAS

/** What every call may be refused with. */
const ALWAYS: readonly ApiErrorCode[] = [
  'invalid_request',
  'wrong_passcode',
  'too_large',
  'unsupported_media_type',
  'internal',
  'overloaded',
]

/**
 * The API as an OpenAPI 3.1 document, of the very schemas that requests are checked by. Source: OpenAPI Specification
 * 3.1.
 */
export function openApiDocument() {
  return {
    openapi: '3.1.1',
    info: {
      title: 'mesh-companion sidecar',
      version: '1',
      description:
        'Push, sync and avatars for an APRS messaging app. Over a rate limit the connection ends without an answer (behind a proxy: status 429 without a body). Members that are not known are passed over, in requests as in answers.',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    // The first is beside the document, whatever a proxy puts before it.
    servers: [
      { url: '..', description: 'Where this document was fetched from.' },
      {
        url: '{address}',
        description: 'Any sidecar: what a generated client is set to where it was made of a file.',
        variables: { address: { default: 'https://aprs.example.org', description: 'Of the sidecar, without /v1.' } },
      },
    ],
    paths: {
      '/v1/register': post(
        'register',
        'Registers a device of a station, and again as its heartbeat every 6 hours',
        ref('RegisterBody'),
        'RegisterAnswer',
        ['reserved', 'devices_full', 'not_registered', 'full'],
      ),
      '/v1/sync': post('sync', 'What a device missed since its cursor', ref('SyncBody'), 'SyncAnswer', [
        'not_registered',
      ]),
      '/v1/avatars': post('avatars', 'The full avatars of up to 50 stations', ref('AvatarsBody'), 'AvatarsAnswer', [
        'not_registered',
      ]),
      '/v1/unregister': post(
        'unregister',
        'Forgets a device, and with its last one the station and its history',
        ref('UnregisterBody'),
        'UnregisterAnswer',
        ['wrong_token', 'not_registered'],
      ),
      '/v1/webpush': {
        get: {
          operationId: 'webPush',
          summary: 'The key that apps subscribe with; not_found while Web Push is off',
          responses: {
            200: answer('The key', ref('WebPushAnswer')),
            ...refusals(['not_found', 'too_large', 'internal']),
          },
        },
      },
      '/v1/openapi.json': {
        get: {
          operationId: 'openApi',
          summary: 'This document',
          responses: {
            200: answer('This document', { type: 'object' }),
            ...refusals(['too_large', 'internal']),
          },
        },
      },
    },
    components: {
      schemas: {
        RegisterBody: sent(BODY_SCHEMAS.register),
        SyncBody: sent(BODY_SCHEMAS.sync),
        AvatarsBody: sent(BODY_SCHEMAS.avatars),
        UnregisterBody: sent(BODY_SCHEMAS.unregister),
        ...ANSWER_SCHEMAS,
      },
    },
  }
}

/**
 * As clients are to send it: an SSID as a text alone, since of a member of several types code generators make nothing
 * of use.
 */
function sent(schema: BodySchema): BodySchema {
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
      responses: { 200: answer(summary, ref(answerName)), ...refusals([...ALWAYS, ...codes]) },
    },
  }
}

/** By status, what each of `codes` means. */
function refusals(codes: readonly ApiErrorCode[]): Readonly<Record<number, object>> {
  const statuses = new Set(codes.map((code) => API_ERRORS[code].status))
  return Object.fromEntries(
    [...statuses].map((status) => {
      const those = codes.filter((code) => API_ERRORS[code].status === status)
      return [status, answer(those.map((code) => `${code}: ${API_ERRORS[code].message}`).join(' '), ref('ErrorAnswer'))]
    }),
  )
}

function answer(description: string, schema: object): object {
  return { description, content: { 'application/json': { schema } } }
}

function ref(name: string): object {
  return { $ref: `#/components/schemas/${name}` }
}
