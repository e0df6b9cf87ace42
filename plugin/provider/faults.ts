import * as oidc from 'openid-client'
import { membersOf } from '../config/json/json-object.ts'
import { LoginError, type LoginErrorCode } from '../errors.ts'
import { causes, deepestMessage } from '../log.ts'
import { authorizationRefused } from './faults/authorization-refused.ts'
import { reasonOf } from './faults/reason.ts'
import { refusedAnswer } from './faults/refused-answer.ts'
import { type Demanded, incompleteMetadata, tokenFault } from './faults/token-fault.ts'
import { unanswered } from './faults/unanswered.ts'

/** What openid-client throws while a login is begun or redeemed, as one of our errors; the cause is kept. */
export function translateLoginFault(error: unknown, demanded: Demanded): LoginError {
  const own = ownFault(error)
  if (own) return own
  if (error instanceof oidc.AuthorizationResponseError) return authorizationRefused(error)
  return (
    refusedAnswer(error, 'token_request_failed') ??
    unanswered(error) ??
    incompleteMetadata(error) ??
    issuerParameterFault(error) ??
    tokenFault(error, 'id_token', demanded)
  )
}

/** The same for the UserInfo request. */
export function translateUserInfoFault(error: unknown): LoginError {
  return (
    ownFault(error) ?? refusedAnswer(error, 'userinfo_failed') ?? unanswered(error) ?? tokenFault(error, 'userinfo')
  )
}

/** Errors of an exchange in which an answer, or an address, is not acceptable. */
const UNACCEPTABLE: readonly unknown[] = ['ANSWER_TOO_LARGE', 'PLAIN_HTTP']

/**
 * Returns the error if UserInfo refused the request or did not answer. Undefined: an answer came, and something in it
 * is wrong. Too large an answer is wrong, so that nobody hides a claim in it.
 */
export function userInfoOutage(error: unknown): LoginError | undefined {
  if (ownFault(error)) return undefined
  const outage = refusedAnswer(error, 'userinfo_failed') ?? unanswered(error)
  return UNACCEPTABLE.includes(outage?.details.causeCode) ? undefined : outage
}

/** The same for a request about a token. */
export function translateTokenFault(error: unknown, code: LoginErrorCode): LoginError {
  const known = ownFault(error) ?? refusedAnswer(error, code) ?? unanswered(error)
  return known ?? new LoginError(code, { cause: error, details: { reason: reasonOf(error) } })
}

/** One of ours that was thrown below the library, which wraps what it does not know. */
function ownFault(error: unknown): LoginError | undefined {
  return causes(error).find((cause) => cause instanceof LoginError)
}

/**
 * The issuer that an answer names for itself, beside any token: it keeps two IdPs of one server apart. Undefined: it is
 * something else. Source: RFC 9207, section 2.4.
 */
function issuerParameterFault(error: unknown): LoginError | undefined {
  const fault = causes(error).find(isOfIssuer)
  if (!fault) return undefined
  const { expected, parameters } = membersOf(fault.cause)
  const received = parameters instanceof URLSearchParams ? parameters.get('iss') : null
  return new LoginError('answer_issuer_invalid', {
    cause: error,
    details: {
      reason: deepestMessage(error),
      received: received ?? 'none',
      ...(typeof expected === 'string' ? { expected } : {}),
    },
  })
}

/**
 * By what the library's error holds. The state, about which it holds as much, is in order: the login was found by it.
 */
function isOfIssuer(fault: Error): boolean {
  const { expected, parameters } = membersOf(fault.cause)
  if (membersOf(fault).code !== 'OAUTH_INVALID_RESPONSE' || !(parameters instanceof URLSearchParams)) return false
  const received = parameters.get('iss')
  return received === null ? expected === undefined && !parameters.has('response') : received !== expected
}
