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
]

/** The API as an OpenAPI 3.1 document, of the very schemas that requests are checked by. Source: OpenAPI Specification 3.1. */
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
    // Beside the document, whatever a proxy puts before it.
    servers: [{ url: '..' }],
    paths: {
      '/v1/register': post(
        'register',
        'Registers a station, and again as its heartbeat every 6 hours',
        registerBody(),
        'RegisterAnswer',
        ['reserved', 'not_registered', 'full'],
      ),
      '/v1/sync': post('sync', 'What a station missed since its cursor', ref('SyncBody'), 'SyncAnswer', [
        'not_registered',
      ]),
      '/v1/avatars': post('avatars', 'The full avatars of up to 50 stations', ref('AvatarsBody'), 'AvatarsAnswer', [
        'not_registered',
      ]),
      '/v1/unregister': post(
        'unregister',
        'Forgets a station and its history',
        ref('UnregisterBody'),
        'UnregisterAnswer',
        ['not_registered'],
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
        RegisterWithToken: forPlatforms(BODY_SCHEMAS.registerWithToken, ['android', 'ios']),
        RegisterWithSubscription: forPlatforms(BODY_SCHEMAS.registerWithSubscription, ['webpush']),
        SyncBody: BODY_SCHEMAS.sync,
        AvatarsBody: BODY_SCHEMAS.avatars,
        UnregisterBody: BODY_SCHEMAS.unregister,
        ...ANSWER_SCHEMAS,
      },
    },
  }
}

const REGISTER_BY_PLATFORM = {
  android: '#/components/schemas/RegisterWithToken',
  ios: '#/components/schemas/RegisterWithToken',
  webpush: '#/components/schemas/RegisterWithSubscription',
}

/** Which of the two checks a body gets depends on its platform. */
function registerBody() {
  return {
    oneOf: [ref('RegisterWithToken'), ref('RegisterWithSubscription')],
    discriminator: { propertyName: 'platform', mapping: REGISTER_BY_PLATFORM },
  }
}

function forPlatforms(schema: BodySchema, platforms: readonly (keyof typeof REGISTER_BY_PLATFORM)[]): BodySchema {
  return { ...schema, properties: { ...schema.properties, platform: { type: 'string', enum: platforms } } }
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
      const schema = { allOf: [ref('Error')], properties: { error: { enum: those } } }
      return [status, answer(those.map((code) => `${code}: ${API_ERRORS[code].message}`).join(' '), schema)]
    }),
  )
}

function answer(description: string, schema: object): object {
  return { description, content: { 'application/json': { schema } } }
}

function ref(name: string): object {
  return { $ref: `#/components/schemas/${name}` }
}
