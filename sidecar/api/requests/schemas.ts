import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import type { AvatarsBody, RegisterBody, SyncBody, UnregisterBody } from '../../client/wire/bodies.ts'
import { jsonPath, pointerSteps } from '../../config/json-path.ts'
import { ApiError, type ErrorDetail } from '../../errors.ts'
import { parseSubscription, subscriptionText } from '../../push/web-push/subscription.ts'
import { BODY_SCHEMAS, type BodySchema } from './body-schemas.ts'

/** Checks a body; throws `invalid_request` with every mistake in it. Members that it does not know are passed over. */
export type BodyCheck<Body> = (body: unknown) => Body

export interface BodyChecks {
  readonly register: BodyCheck<RegisterBody>
  readonly sync: BodyCheck<SyncBody>
  readonly avatars: BodyCheck<AvatarsBody>
  readonly unregister: BodyCheck<UnregisterBody>
}

/**
 * The checks of all calls. Each is compiled once, when it is first needed: all of them take some milliseconds of a
 * start. `allowPrivate`: subscriptions of Web Push may be to push services in private networks.
 */
export function createBodyChecks({ allowPrivate }: { readonly allowPrivate: boolean }): BodyChecks {
  // That the schemas themselves are in order is shown by a test: to check them here would take 10 ms of each start.
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

/** A hostile body can have a mistake every two bytes. */
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
    // Of the ids of devices alone.
    case 'pattern':
      return 'It must be 1 to 64 visible ASCII characters, without blanks.'
    default:
      return 'It does not have the right form.'
  }
}

/**
 * A push token of any platform as it is kept: a subscription of Web Push in the one text that all its forms have in
 * common.
 */
function storedToken(pushToken: string): string {
  const parsed = parseSubscription(pushToken, true)
  return 'subscription' in parsed ? subscriptionText(parsed.subscription) : pushToken
}

/**
 * What is kept of the subscription that a phone sent as its push token; throws `invalid_request` with every mistake in
 * it.
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
