import { LoginError } from '../../errors.ts'

/**
 * Adds the requested scopes to an IdP's refusal of a scope, because the IdP does not say which one it refused. Returns
 * other refusals unchanged. Source: RFC 6749, sections 4.1.2.1 and 5.2.
 */
export function explainScopes(refusal: LoginError, scopes: readonly string[]): LoginError {
  if (refusal.details.error !== 'invalid_scope') return refusal
  return new LoginError('scope_refused', { cause: refusal.cause, details: { ...refusal.details, scopes } })
}
