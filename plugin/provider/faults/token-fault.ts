import { decodeProtectedHeader } from 'jose'
import { type JsonObject, membersOf } from '../../config/json/json-object.ts'
import type { ClientSettings } from '../../config/settings.ts'
import { LoginError, type LoginErrorCode } from '../../errors.ts'
import { causeCode, causes } from '../../log.ts'
import { ISSUED_AHEAD, ISSUED_LONG_AGO } from '../tokens/id-token-rules.ts'
import { reasonOf } from './reason.ts'

/** Which answer was judged: members of the Client object begin with its name. */
type Judged = 'id_token' | 'userinfo'

const CODES = { id_token: 'id_token_invalid', userinfo: 'userinfo_failed' } as const satisfies Record<
  Judged,
  LoginErrorCode
>
const NAMES = { id_token: 'ID token', userinfo: 'UserInfo answer' } as const

/** Members of the Client object that demand `auth_time` of ID tokens. */
export type Demanded = Partial<Pick<ClientSettings, 'default_max_age' | 'require_auth_time'>>

/** What was seen, and what mends it. */
interface Finding {
  readonly details: Readonly<Record<string, unknown>>
  readonly remedy?: string
  readonly code?: LoginErrorCode
}

/** An ID token, or a UserInfo answer, did not pass a check of the library. */
export function tokenFault(error: unknown, judged: Judged, demanded: Demanded = {}): LoginError {
  const code = causeCode(error)
  const { details, remedy, ...other } = findingIn(error, judged, demanded)
  return new LoginError(other.code ?? CODES[judged], {
    cause: error,
    details: { reason: reasonOf(error), ...(code === undefined ? {} : { causeCode: code }), ...details },
    ...(remedy === undefined ? {} : { remedy }),
  })
}

/**
 * An ID token did not pass one of our own checks.
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
  'The ID token was issued at `received`, and by the clock of this server it is only `now`: this clock is behind, or that of the IdP is ahead. Set both clocks by NTP.'
const AHEAD =
  'The ID token was issued at `received`, and by the clock of this server it is `now` already: this clock is ahead, or that of the IdP is behind. Set both clocks by NTP.'

/** The IdP does not publish an address that is needed. Undefined: it is something else. */
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

/** Each error of the library is known by its code and by what it holds: its sentences may change with any version. */
function findingIn(error: unknown, judged: Judged, demanded: Demanded): Finding {
  const fault = causes(error).at(-1)
  const code = membersOf(fault).code
  // A copy: a response has a body too, though not of its own.
  const facts = { ...membersOf(fault?.cause) }
  if (code === 'OAUTH_JWT_USERINFO_EXPECTED') return unsignedUserInfo()
  if (code === 'OAUTH_KEY_SELECTION_FAILED') return unknownKey(facts)
  // The token itself is held for nothing else.
  if (code === 'OAUTH_UNSUPPORTED_OPERATION' && typeof fault?.cause === 'string')
    return encryptedUnasked(fault.cause, judged)
  // Has no code: there is neither a configured algorithm, nor a published one, nor one to fall back on.
  if ('fallback' in facts) return signedUnasked(judged)
  if (typeof facts.claim === 'string') return otherClaim(facts.claim, facts)
  if (code !== 'OAUTH_INVALID_RESPONSE') return { details: {} }
  if ('header' in facts) return otherAlgorithm(facts, judged)
  if ('body' in facts) return otherBody(facts, judged)
  const demandsTime = demanded.default_max_age !== undefined || demanded.require_auth_time === true
  const lacksTime = 'claims' in facts && membersOf(facts.claims).auth_time === undefined
  return demandsTime && lacksTime ? { details: { claim: 'auth_time' }, remedy: NO_AUTH_TIME } : { details: {} }
}

function otherAlgorithm({ header, expected }: JsonObject, judged: Judged): Finding {
  const member = `client.${judged}_signed_response_alg`
  return {
    details: { received: textOf(membersOf(header).alg), expected: [expected].flat().map(textOf), member },
    remedy: `The ${NAMES[judged]} is signed by another algorithm than ${judged === 'id_token' ? `\`${member}\` says (RS256 where it is not set)` : `\`${member}\` or the IdP says`}: set it to \`received\` if that is what the IdP is meant to use, or set the algorithm of this client at the IdP.`,
  }
}

function signedUnasked(judged: Judged): Finding {
  const member = `client.${judged}_signed_response_alg`
  return {
    details: { received: 'signed', expected: 'not signed', member },
    remedy: `The ${NAMES[judged]} is signed, and nothing says by which algorithm: set \`${member}\`, or switch the signature off for this client at the IdP.`,
  }
}

function encryptedUnasked(token: unknown, judged: Judged): Finding {
  const { alg, enc } = headerOf(token)
  const member = `client.${judged}_encrypted_response_alg`
  return {
    details: { received: `encrypted: ${textOf(alg)}, ${textOf(enc)}`, expected: 'not encrypted', member },
    remedy: `The ${NAMES[judged]} is encrypted, and nothing here says so: set \`${member}\` and \`…_enc\` to what the IdP uses, or switch the encryption off for this client at the IdP.`,
  }
}

function unsignedUserInfo(): Finding {
  return {
    details: { received: 'not signed', expected: 'signed', member: 'client.userinfo_signed_response_alg' },
    remedy:
      'The UserInfo answer is not signed, though `client.userinfo_signed_response_alg` says that it is: remove that, or have the IdP sign UserInfo for this client.',
  }
}

const NO_AUTH_TIME =
  'The ID token does not say when the person last signed in (`auth_time`), which `client.default_max_age` or `client.require_auth_time` demands. Have the IdP send it, or remove these: some never send it.'

function unknownKey({ header }: JsonObject): Finding {
  const { kid, alg } = membersOf(header)
  return {
    details: { keyId: kid === undefined ? 'none' : textOf(kid), algorithm: textOf(alg) },
    remedy:
      'The key set of the IdP has no key, or several, for this token (`keyId`, `algorithm`). Check `issuer.jwks_uri` where it is set by hand, and whether several servers of the IdP have different keys.',
  }
}

/** The answer is JSON, but not that of the protocol: some say errors with status 200. */
function otherBody({ body }: JsonObject, judged: Judged): Finding {
  const { error, error_description: description } = membersOf(body)
  return {
    code: judged === 'id_token' ? 'token_request_failed' : 'userinfo_failed',
    details: {
      ...(typeof error === 'string' ? { error } : {}),
      ...(typeof description === 'string' ? { errorDescription: description } : {}),
    },
    remedy: `The answer of the ${judged === 'id_token' ? 'token' : 'UserInfo'} endpoint is not that of the protocol; \`reason\` says what it lacks. Check \`issuer\` and the IdP's log.`,
  }
}

/** Claims that are no secret: a nonce or a hash would be one. */
const SHOWN = ['iss', 'aud', 'azp']
const TIMES = ['exp', 'nbf', 'iat']
const CLAIM_REMEDIES: Readonly<Record<string, string>> = {
  iss: 'The token is of another issuer than `issuer`: `received` and `expected` differ. Check `issuer`, and what the IdP holds for its own address behind its proxy.',
  aud: 'The token is for another client. Check `client.client_id`, and which audiences the IdP puts into the ID tokens of this client.',
  azp: 'The token was issued to another client. Check `client.client_id`.',
  auth_time:
    'The person signed in at the IdP longer ago than `client.default_max_age` allows, and the IdP did not ask again: it ignores `max_age`, or the clocks differ.',
}
const CLOCKS =
  'The times in the token do not fit the clock of this server: `received` and `now` differ. Set both clocks by NTP.'

function otherClaim(claim: string, { claims, expected, now }: JsonObject): Finding {
  const value = membersOf(claims)[claim]
  const remedy = CLAIM_REMEDIES[claim] ?? (TIMES.includes(claim) ? CLOCKS : undefined)
  const seen = SHOWN.includes(claim)
    ? {
        received: [value].flat().slice(0, 10).map(textOf),
        ...(expected === undefined ? {} : { expected: textOf(expected) }),
      }
    : typeof now === 'number' && typeof value === 'number'
      ? { received: timeOf(value), now: timeOf(now) }
      : {}
  return { details: { claim, ...seen }, ...(remedy === undefined ? {} : { remedy }) }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : value === undefined ? 'none' : `a ${typeof value}`
}

/** @param seconds since 1970, from outside */
function timeOf(seconds: number): string {
  const date = new Date(seconds * 1000)
  return Number.isNaN(date.getTime()) ? 'no time' : date.toISOString()
}

function headerOf(token: unknown): { readonly alg?: unknown; readonly enc?: unknown } {
  try {
    return typeof token === 'string' ? decodeProtectedHeader(token) : {}
  } catch {
    return {}
  }
}
