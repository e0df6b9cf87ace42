import { LoginError } from '../../errors.ts'

/**
 * Adds the requested scopes to an error about a scope, which the IdP does not name (RFC 6749, sections 4.1.2.1 and
 * 5.2).
 */
export function explainScopes(refusal: LoginError, scopes: readonly string[]): LoginError {
  if (refusal.details.error !== 'invalid_scope') return refusal
  return new LoginError('scope_refused', { cause: refusal.cause, details: { ...refusal.details, scopes } })
}
