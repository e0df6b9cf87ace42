import { decodeProtectedHeader } from 'jose'
import { type JsonObject, membersOf } from '../../config/json/json-object.ts'
import type { ClientSettings } from '../../config/settings.ts'
import { LoginError, type LoginErrorCode } from '../../errors.ts'
import { causeCode, causes } from '../../log.ts'
import { ISSUED_AHEAD, ISSUED_LONG_AGO } from '../tokens/id-token-rules.ts'
import { reasonOf } from './reason.ts'

/**
 * The kind of answer that was verified. Members of the Client object for this kind begin with the same text, such as
 * `id_token_signed_response_alg`.
 */
type Verified = 'id_token' | 'userinfo'

const CODES = { id_token: 'id_token_invalid', userinfo: 'userinfo_failed' } as const satisfies Record<
  Verified,
  LoginErrorCode
>
const NAMES = { id_token: 'ID token', userinfo: 'UserInfo answer' } as const

/** The settings after which an ID token must contain `auth_time`. */
export type TimeRules = Partial<Pick<ClientSettings, 'default_max_age' | 'require_auth_time'>>

/**
 * What is wrong with an ID token or a UserInfo answer: details and a remedy for the log. `code` replaces the usual
 * error code in `CODES`.
 */
interface Finding {
  readonly details: Readonly<Record<string, unknown>>
  readonly remedy?: string
  readonly code?: LoginErrorCode
}

/** Translates a library error about an ID token or a UserInfo answer that failed a check. */
export function tokenFault(error: unknown, kind: Verified, rules: TimeRules = {}): LoginError {
  const code = causeCode(error)
  const { details, remedy, code: findingCode } = findingIn(error, kind, rules)
  return new LoginError(findingCode ?? CODES[kind], {
    cause: error,
    details: { reason: reasonOf(error), ...(code === undefined ? {} : { causeCode: code }), ...details },
    ...(remedy === undefined ? {} : { remedy }),
  })
}

/**
 * Translates the failure of one of this plugin's own checks of an ID token.
 *
 * @param nowS seconds since 1970
 */
export function objectedIdToken(reason: string, { iat }: JsonObject, nowS: number): LoginError {
  const remedy = reason === ISSUED_AHEAD ? BEHIND : reason === ISSUED_LONG_AGO ? AHEAD : undefined
  if (remedy === undefined) return new LoginError('id_token_invalid', { details: { reason } })
  const times = { received: timeOf(Number(iat)), now: timeOf(Math.floor(nowS)) }
  return new LoginError('id_token_invalid', { details: { reason, claim: 'iat', ...times }, remedy })
}

const BEHIND =
  'The ID token was issued at `received`, but the time of this server is only `now`: this clock is behind, or that of the IdP is ahead. Set both clocks by NTP.'
const AHEAD =
  'The ID token was issued at `received`, but the time of this server is already `now`: this clock is ahead, or that of the IdP is behind. Set both clocks by NTP.'

/** Translates the library's error about a missing endpoint. Returns undefined if the error has another reason. */
export function incompleteMetadata(error: unknown): LoginError | undefined {
  const fault = causes(error).findLast(
    (cause) =>
      'code' in cause &&
      (cause.code === 'OAUTH_MISSING_SERVER_METADATA' || cause.code === 'OAUTH_INVALID_SERVER_METADATA'),
  )
  if (!fault) return undefined
  return new LoginError('metadata_incomplete', {
    cause: error,
    details: { endpoint: textOf(membersOf(fault.cause).attribute) },
  })
}

/** Recognizes a library error by its code and data. Its message may change with any version. */
function findingIn(error: unknown, kind: Verified, rules: TimeRules): Finding {
  const fault = causes(error).at(-1)
  const code = membersOf(fault).code
  // Copy the cause's own members. The cause may be a `Response`, and `in` would find the `body` that it inherits.
  const facts = { ...membersOf(fault?.cause) }
  if (code === 'OAUTH_JWT_USERINFO_EXPECTED') return unsignedUserInfo()
  if (code === 'OAUTH_KEY_SELECTION_FAILED') return unknownKey(facts)
  // The library uses `OAUTH_UNSUPPORTED_OPERATION` for several errors. Only the error about an encrypted token has the
  // token as its cause.
  if (code === 'OAUTH_UNSUPPORTED_OPERATION' && typeof fault?.cause === 'string')
    return encryptedUnexpectedly(fault.cause, kind)
  // The library throws an error without a code if no signature algorithm is configured, published or assumed by
  // default.
  if ('fallback' in facts) return signedUnexpectedly(kind)
  if (typeof facts.claim === 'string') return otherClaim(facts.claim, facts)
  if (code !== 'OAUTH_INVALID_RESPONSE') return { details: {} }
  if ('header' in facts) return otherAlgorithm(facts, kind)
  if ('body' in facts) return otherBody(facts, kind)
  const demandsTime = rules.default_max_age !== undefined || rules.require_auth_time === true
  const lacksTime = 'claims' in facts && membersOf(facts.claims).auth_time === undefined
  return demandsTime && lacksTime ? { details: { claim: 'auth_time' }, remedy: NO_AUTH_TIME } : { details: {} }
}

function otherAlgorithm({ header, expected }: JsonObject, kind: Verified): Finding {
  const member = `client.${kind}_signed_response_alg`
  return {
    details: { received: textOf(membersOf(header).alg), expected: [expected].flat().map(textOf), member },
    remedy: `The ${NAMES[kind]} is signed with another algorithm than ${kind === 'id_token' ? `\`${member}\` says (default RS256)` : `\`${member}\` or the IdP says`}. Set it to \`received\` if the IdP should use that, or change the algorithm of this client at the IdP.`,
  }
}

function signedUnexpectedly(kind: Verified): Finding {
  const member = `client.${kind}_signed_response_alg`
  return {
    details: { received: 'signed', expected: 'not signed', member },
    remedy: `The ${NAMES[kind]} is signed, but no algorithm is configured. Set \`${member}\`, or switch off the signature for this client at the IdP.`,
  }
}

function encryptedUnexpectedly(token: unknown, kind: Verified): Finding {
  const { alg, enc } = headerOf(token)
  const member = `client.${kind}_encrypted_response_alg`
  return {
    details: { received: `encrypted: ${textOf(alg)}, ${textOf(enc)}`, expected: 'not encrypted', member },
    remedy: `The ${NAMES[kind]} is encrypted, but no encryption is configured. Set \`${member}\` and \`…_enc\` to the IdP's algorithms, or switch off the encryption for this client at the IdP.`,
  }
}

function unsignedUserInfo(): Finding {
  return {
    details: { received: 'not signed', expected: 'signed', member: 'client.userinfo_signed_response_alg' },
    remedy:
      'The UserInfo answer is not signed, but `client.userinfo_signed_response_alg` requires it. Remove that member, or have the IdP sign UserInfo for this client.',
  }
}

const NO_AUTH_TIME =
  'The ID token lacks `auth_time`, the time when the user last signed in, but `client.default_max_age` or `client.require_auth_time` requires it. Have the IdP send it, or remove these members: some IdPs never send it.'

function unknownKey({ header }: JsonObject): Finding {
  const { kid, alg } = membersOf(header)
  return {
    details: { keyId: kid === undefined ? 'none' : textOf(kid), algorithm: textOf(alg) },
    remedy:
      "The IdP's key set has no key, or several keys, for this token (`keyId`, `algorithm`). Check `issuer.jwks_uri` if you set it, and whether the IdP's servers have different keys.",
  }
}

/** Translates a JSON answer that lacks required members. Some IdPs report errors with status 200 and such an answer. */
function otherBody({ body }: JsonObject, kind: Verified): Finding {
  const { error, error_description: description } = membersOf(body)
  return {
    code: kind === 'id_token' ? 'token_request_failed' : 'userinfo_failed',
    details: {
      ...(typeof error === 'string' ? { error } : {}),
      ...(typeof description === 'string' ? { errorDescription: description } : {}),
    },
    remedy: `The answer of the ${kind === 'id_token' ? 'token' : 'UserInfo'} endpoint is not as the protocol requires: see \`reason\`. Check \`issuer\` and the IdP's log.`,
  }
}

/** Claims that may be logged with their values. The values of other claims, such as a nonce or a hash, are secrets. */
const LOGGED = ['iss', 'aud', 'azp']
const TIMES = ['exp', 'nbf', 'iat']
const CLAIM_REMEDIES: Readonly<Record<string, string>> = {
  iss: 'The token is from another issuer than `issuer`: `received` and `expected` differ. Check `issuer`, and which address the IdP uses for itself behind its proxy.',
  aud: 'The token is for another client. Check `client.client_id`, and the audiences that the IdP puts into the ID tokens of this client.',
  azp: 'The token was issued to another client. Check `client.client_id`.',
  auth_time:
    'The user signed in at the IdP longer ago than `client.default_max_age` allows, but the IdP did not ask again. It ignores `max_age`, or the clocks differ.',
}
const CLOCKS =
  "The times in the token do not match this server's clock: `received` and `now` differ. Set both clocks by NTP."

function otherClaim(claim: string, { claims, expected, now }: JsonObject): Finding {
  const value = membersOf(claims)[claim]
  const remedy = CLAIM_REMEDIES[claim] ?? (TIMES.includes(claim) ? CLOCKS : undefined)
  const observed = LOGGED.includes(claim)
    ? {
        received: [value].flat().slice(0, 10).map(textOf),
        ...(expected === undefined ? {} : { expected: textOf(expected) }),
      }
    : typeof now === 'number' && typeof value === 'number'
      ? { received: timeOf(value), now: timeOf(now) }
      : {}
  return { details: { claim, ...observed }, ...(remedy === undefined ? {} : { remedy }) }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? 'none' : `a ${typeof value}`
}

/**
 * Formats the time in a token.
 *
 * @param seconds seconds since 1970. Not trusted
 */
function timeOf(seconds: number): string {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? 'not a time' : date.toISOString()
}

function headerOf(token: unknown): { readonly alg?: unknown; readonly enc?: unknown } {
  try {
    return typeof token === 'string' ? decodeProtectedHeader(token) : {}
  } catch {
    return {}
  }
}
