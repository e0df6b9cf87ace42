import * as oidc from 'openid-client'
import { LoginError, type LoginErrorCode } from '../errors.ts'
import { causeCode, causes, deepestMessage } from '../log.ts'
import { ForbiddenExchange } from './http/guarded-fetch.ts'

/** What openid-client throws while a login is begun or redeemed, as one of our errors; the cause is kept. */
export function translateLoginFault(error: unknown): LoginError {
  const own = ownFault(error)
  if (own) return own
  if (error instanceof oidc.AuthorizationResponseError) {
    return new LoginError('provider_error', { cause: error, details: wordsOf(error) })
  }
  return refusal(error, 'token_request_failed') ?? exchangeFault(error) ?? badToken(error)
}

/** The same for the UserInfo request. */
export function translateUserInfoFault(error: unknown): LoginError {
  return translateTokenFault(error, 'userinfo_failed')
}

/** The same for a request about a token. */
export function translateTokenFault(error: unknown, code: LoginErrorCode): LoginError {
  const known = ownFault(error) ?? refusal(error, code) ?? exchangeFault(error)
  return known ?? new LoginError(code, { cause: error, details: { reason: deepestMessage(error) } })
}

/** One of ours that was thrown below the library, which wraps what it does not know. */
function ownFault(error: unknown): LoginError | undefined {
  return causes(error).find((cause) => cause instanceof LoginError)
}

function refusal(error: unknown, code: LoginErrorCode): LoginError | undefined {
  if (error instanceof oidc.ResponseBodyError) {
    return new LoginError(code, { cause: error, details: { status: error.status, ...wordsOf(error) } })
  }
  if (error instanceof oidc.WWWAuthenticateChallengeError) {
    const [challenge] = error.cause
    const reason = challenge?.parameters.error
    return new LoginError(code, {
      cause: error,
      details: { status: error.status, ...(reason === undefined ? {} : { error: reason }) },
    })
  }
  return undefined
}

function wordsOf(error: { readonly error: string; readonly error_description?: string }) {
  return {
    error: error.error,
    ...(error.error_description === undefined ? {} : { errorDescription: error.error_description }),
  }
}

/** No connection, no answer in time, too much of it, or one that is not of the protocol. */
function exchangeFault(error: unknown): LoginError | undefined {
  for (const cause of causes(error)) {
    if (cause instanceof ForbiddenExchange) return unreachable(error, cause.code)
    if (cause instanceof DOMException && (cause.name === 'TimeoutError' || cause.name === 'AbortError')) {
      return unreachable(error, 'TIMEOUT')
    }
    // How `fetch` reports that no connection came about.
    if (cause instanceof TypeError && cause.cause instanceof Error)
      return unreachable(error, causeCode(cause) ?? 'NETWORK')
  }
  if (
    error instanceof oidc.ClientError &&
    (error.code === 'OAUTH_RESPONSE_IS_NOT_CONFORM' || error.code === 'OAUTH_RESPONSE_IS_NOT_JSON')
  ) {
    const status = error.cause instanceof Response ? { status: error.cause.status } : {}
    return new LoginError('provider_unreachable', { cause: error, details: { causeCode: error.code, ...status } })
  }
  return undefined
}

function unreachable(cause: unknown, code: string): LoginError {
  return new LoginError('provider_unreachable', { cause, details: { causeCode: code } })
}

function badToken(error: unknown): LoginError {
  const code = causeCode(error)
  return new LoginError('id_token_invalid', {
    cause: error,
    details: { reason: deepestMessage(error), ...(code === undefined ? {} : { causeCode: code }) },
  })
}
