import { LoginError } from '../../errors.ts'

/**
 * Where an IdP refuses a scope, it does not say which one: the refusal with all that were asked for. Others stay as
 * they are. Source: RFC 6749, sections 4.1.2.1 and 5.2.
 */
export function explainScopes(refusal: LoginError, scopes: readonly string[]): LoginError {
  if (refusal.details.error !== 'invalid_scope') return refusal
  return new LoginError('scope_refused', { cause: refusal.cause, details: { ...refusal.details, scopes } })
}
