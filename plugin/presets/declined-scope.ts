/**
 * Whether the vendor granted none of the scopes for groups, because the user declined them or removed them from the
 * address. That is the user's choice, so it means no memberships. If it meant *unknown*, a former administrator could
 * stay one by declining.
 *
 * @param requested scopes for groups that the login requested
 * @param granted null or undefined: the vendor does not say, which means all requested scopes (RFC 6749, section 5.1)
 */
export function isGroupScopeDeclined(
  requested: readonly string[],
  granted: readonly string[] | null | undefined,
): boolean {
  if (requested.length === 0 || !granted) return false
  // Microsoft lists scopes with or without the address of the API.
  return !requested.some((scope) => granted.some((name) => name === scope || name.endsWith(`/${scope}`)))
}
