import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv'
import { ApiError, type ErrorDetail } from '../errors.ts'
import { jsonPath, pointerSteps } from '../json-path.ts'
import { PLATFORMS, type Platform } from '../messages/store.ts'
import { storedSubscription } from './stored-subscription.ts'

/** What every call says of who calls. */
export interface StationClaim {
  readonly callsign: string
  readonly ssid: number | string | null
  /** The passcode of the callsign. */
  readonly auth: number
}

/** Body of `/v1/register`. An optional member may also be null. */
export interface RegisterBody extends StationClaim {
  readonly platform: Platform
  readonly pushToken: string
  readonly ackMessages: boolean
  readonly wantHistory?: boolean | null
  readonly since?: number | null
  readonly avatarHash?: string | null
  readonly avatarIcon?: string | null
  readonly avatarImage?: string | null
  readonly avatarUpdate?: boolean | null
}

/** Body of `/v1/sync`. */
export interface SyncBody extends StationClaim {
  readonly since: number
}

/** Body of `/v1/avatars`. */
export interface AvatarsBody extends StationClaim {
  /** Stations as `CALL-SSID`. */
  readonly stations: readonly string[]
}

/** Checks a body; throws `invalid_request` with every mistake in it. Members that it does not know are passed over. */
export type BodyCheck<Body> = (body: unknown) => Body

export interface BodyChecks {
  readonly register: BodyCheck<RegisterBody>
  readonly sync: BodyCheck<SyncBody>
  readonly avatars: BodyCheck<AvatarsBody>
  readonly unregister: BodyCheck<StationClaim>
}

/**
 * Compiles the checks of all calls; takes some milliseconds, so it is done once. `allowPrivate`: subscriptions of Web Push may be to push
 * services in private networks.
 */
export function createBodyChecks({ allowPrivate }: { readonly allowPrivate: boolean }): BodyChecks {
  const ajv = new Ajv({ allErrors: true, allowUnionTypes: true })
  const check = <Body>(optional: Members, required: Members): BodyCheck<Body> => {
    const validate = ajv.compile<Body>({
      type: 'object',
      properties: { ...CLAIM, ...optional, ...required },
      required: [...Object.keys(CLAIM), ...Object.keys(required)],
    })
    return (body) => checked(validate, body)
  }
  const registerWith = (pushToken: object) =>
    check<RegisterBody>(
      {
        wantHistory: OPTIONAL_FLAG,
        since: { type: ['number', 'null'] },
        avatarHash: OPTIONAL_TEXT,
        avatarIcon: OPTIONAL_TEXT,
        avatarImage: OPTIONAL_TEXT,
        avatarUpdate: OPTIONAL_FLAG,
      },
      {
        platform: { type: 'string', enum: PLATFORMS },
        pushToken,
        ackMessages: { type: 'boolean' },
      },
    )
  const vendorRegister = registerWith({ type: 'string', pattern: `^[\\x21-\\x7e]{1,${MAX_TOKEN_CHARACTERS}}$` })
  // Most servers never need it, and each one takes its milliseconds of the start.
  let webPushRegister: BodyCheck<RegisterBody> | undefined
  return {
    register(received) {
      if (Object(received).platform !== 'webpush') return vendorRegister(received)
      webPushRegister ??= registerWith({ type: 'string', maxLength: MAX_TOKEN_CHARACTERS })
      const body = webPushRegister(received)
      return { ...body, pushToken: storedSubscription(body.pushToken, allowPrivate) }
    },
    sync: check({}, { since: { type: 'number' } }),
    avatars: check({}, { stations: { type: 'array', items: { type: 'string' }, maxItems: MAX_STATIONS_PER_CALL } }),
    unregister: check({}, {}),
  }
}

/** Source: Limits, stations per `/v1/avatars` request. */
const MAX_STATIONS_PER_CALL = 50

/** Both vendors' tokens are far shorter; they change their length now and then. */
const MAX_TOKEN_CHARACTERS = 4096

/** A hostile body can have a mistake every two bytes. */
const MAX_DETAILS = 20

type Members = Readonly<Record<string, object>>

const CLAIM: Members = {
  callsign: { type: 'string' },
  ssid: { type: ['integer', 'string', 'null'] },
  auth: { type: 'number' },
}
const OPTIONAL_FLAG = { type: ['boolean', 'null'] }
const OPTIONAL_TEXT = { type: ['string', 'null'] }

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
    // The push token is the one text that has a pattern.
    case 'pattern':
      return `It must be 1 to ${MAX_TOKEN_CHARACTERS} visible ASCII characters, without blanks.`
    default:
      return 'It does not have the right form.'
  }
}
