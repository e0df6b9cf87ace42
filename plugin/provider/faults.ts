import * as oidc from 'openid-client'
import { membersOf } from '../config/json/json-object.ts'
import { LoginError, type LoginErrorCode } from '../errors.ts'
import { causes, deepestMessage } from '../log.ts'
import { authorizationRefused } from './faults/authorization-refused.ts'
import { reasonOf } from './faults/reason.ts'
import { refusedAnswer } from './faults/refused-answer.ts'
import { incompleteMetadata, type TimeRules, tokenFault } from './faults/token-fault.ts'
import { unanswered } from './faults/unanswered.ts'

/** Translates an error of openid-client during the start or the completion of a login. Keeps the cause. */
export function translateLoginFault(error: unknown, rules: TimeRules): LoginError {
  const translated = knownFault(error)
  if (translated) return translated
  if (error instanceof oidc.AuthorizationResponseError) return authorizationRefused(error)
  return (
    refusedAnswer(error, 'token_request_failed') ??
    unanswered(error) ??
    incompleteMetadata(error) ??
    issuerParameterFault(error) ??
    tokenFault(error, 'id_token', rules)
  )
}

/** Translates an error of the UserInfo request. */
export function translateUserInfoFault(error: unknown): LoginError {
  return (
    knownFault(error) ?? refusedAnswer(error, 'userinfo_failed') ?? unanswered(error) ?? tokenFault(error, 'userinfo')
  )
}

/**
 * Values of `causeCode` for requests that this server itself stopped: the answer was too large, or the address did not
 * use TLS.
 */
const UNACCEPTABLE: readonly unknown[] = ['ANSWER_TOO_LARGE', 'PLAIN_HTTP']

/**
 * Returns the error if UserInfo refused the request or did not answer. A large answer is no outage, so that an attacker
 * cannot hide a claim by its size.
 */
export function userInfoOutage(error: unknown): LoginError | undefined {
  if (knownFault(error)) return undefined
  const outage = refusedAnswer(error, 'userinfo_failed') ?? unanswered(error)
  return UNACCEPTABLE.includes(outage?.details.causeCode) ? undefined : outage
}

/** Translates an error of a renewal, introspection or revocation request. */
export function translateTokenFault(error: unknown, code: LoginErrorCode): LoginError {
  const translated = knownFault(error) ?? refusedAnswer(error, code) ?? unanswered(error)
  return translated ?? new LoginError(code, { cause: error, details: { reason: reasonOf(error) } })
}

/** Finds a LoginError among the causes, because the library wraps errors that it does not know. */
function knownFault(error: unknown): LoginError | undefined {
  return causes(error).find((cause) => cause instanceof LoginError)
}

/**
 * Translates a wrong `iss` in an authorization response: perhaps an attack that mixes up two IdPs (RFC 9207, section
 * 2.4).
 */
function issuerParameterFault(error: unknown): LoginError | undefined {
  const fault = causes(error).find(isIssuerFault)
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
 * Recognizes a wrong issuer by the data in the library's error. A wrong state has the same data, but cannot occur here:
 * the plugin found this login by its state.
 */
function isIssuerFault(fault: Error): boolean {
  const { expected, parameters } = membersOf(fault.cause)
  if (membersOf(fault).code !== 'OAUTH_INVALID_RESPONSE' || !(parameters instanceof URLSearchParams)) return false
  const received = parameters.get('iss')
  return received === null ? expected === undefined && !parameters.has('response') : received !== expected
}
