import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { AvatarsBody, RegisterBody, SyncBody, UnregisterBody } from '../../client/wire/bodies.ts'
import { jsonPath, pointerSteps } from '../../config/json-path.ts'
import { ApiError, type ErrorDetail } from '../../errors.ts'
import { BLOCKED_ENTRY } from '../../messages/devices/blocked-senders.ts'
import { parseSubscription, subscriptionText } from '../../push/web-push/subscription.ts'
import { BODY_SCHEMAS, type BodySchema, DEVICE_ID } from './body-schemas.ts'

/** Validates a body. Throws `invalid_request` with the body's mistakes. Ignores unknown members. */
export type BodyCheck<Body> = (body: unknown) => Body

export interface BodyChecks {
  readonly register: BodyCheck<RegisterBody>
  readonly sync: BodyCheck<SyncBody>
  readonly avatars: BodyCheck<AvatarsBody>
  readonly unregister: BodyCheck<UnregisterBody>
}

/**
 * Creates the checks of request bodies. Each is compiled at its first use, for a fast start. `allowPrivate`: whether a
 * Web Push service may be in a private network.
 */
export function createBodyChecks({ allowPrivate }: { readonly allowPrivate: boolean }): BodyChecks {
  // A test validates the schemas instead. Validating them here would take 10 ms at each start.
  const ajv = new Ajv({
    meta: false,
    validateSchema: false,
    validateFormats: false,
    allErrors: true,
    allowUnionTypes: true,
  })
  const check = <Body>(schema: BodySchema): BodyCheck<Body> => {
    let validate: ValidateFunction<Body> | undefined
    return (body) => {
      validate ??= ajv.compile<Body>(schema)
      return checked(validate, body)
    }
  }
  const register = check<RegisterBody>(BODY_SCHEMAS.register)
  const unregister = check<UnregisterBody>(BODY_SCHEMAS.unregister)
  return {
    register(received) {
      const body = register(received)
      if (body.platform !== 'webpush') return body
      return { ...body, pushToken: storedSubscription(body.pushToken, allowPrivate) }
    },
    sync: check(BODY_SCHEMAS.sync),
    avatars: check(BODY_SCHEMAS.avatars),
    unregister(received) {
      const body = unregister(received)
      return body.pushToken ? { ...body, pushToken: storedToken(body.pushToken) } : body
    },
  }
}

/** Limit of the mistakes that an answer lists. A hostile body can contain one every two bytes. */
const MAX_DETAILS = 20

function checked<Body>(validate: ValidateFunction<Body>, body: unknown): Body {
  if (validate(body)) return body
  throw new ApiError('invalid_request', (validate.errors ?? []).slice(0, MAX_DETAILS).map(detailOf))
}

function detailOf(error: ErrorObject): ErrorDetail {
  const steps = pointerSteps(error.instancePath)
  if (error.keyword === 'required')
    return { path: jsonPath([...steps, String(error.params.missingProperty)]), reason: 'It is missing.' }
  return { path: jsonPath(steps), reason: reasonOf(error) }
}

const PATTERN_REASONS: Readonly<Record<string, string>> = {
  [DEVICE_ID]: 'It must be 1 to 64 visible ASCII characters, without spaces.',
  [BLOCKED_ENTRY]: 'It must be a callsign with or without SSID, or the beginning of one with a * at the end.',
}

function reasonOf({ keyword, params }: ErrorObject): string {
  switch (keyword) {
    case 'type':
      return `It must be of type ${[params.type].flat().join(' or ')}.`
    case 'enum':
      return `It must be one of ${params.allowedValues.join(', ')}.`
    case 'maxItems':
      return `It has more than ${params.limit} entries.`
    case 'maxLength':
      return `It has more than ${params.limit} characters.`
    case 'pattern':
      return PATTERN_REASONS[params.pattern] ?? 'It does not have the right form.'
    default:
      return 'It does not have the right form.'
  }
}

/** Returns a push token as stored: canonical, because a Web Push subscription can be written in several ways. */
function storedToken(pushToken: string): string {
  const parsed = parseSubscription(pushToken, true)
  return 'subscription' in parsed ? subscriptionText(parsed.subscription) : pushToken
}

/**
 * Returns the canonical text of the Web Push subscription that a device sends as its push token. Throws
 * `invalid_request` with the subscription's mistakes.
 */
function storedSubscription(pushToken: string, allowPrivate: boolean): string {
  const parsed = parseSubscription(pushToken, allowPrivate)
  if ('subscription' in parsed) return subscriptionText(parsed.subscription)
  const path = (member: string) => (member === '' ? 'pushToken' : `pushToken.${member}`)
  throw new ApiError(
    'invalid_request',
    parsed.problems.map(({ path: member, reason }) => ({ path: path(member), reason })),
  )
}
