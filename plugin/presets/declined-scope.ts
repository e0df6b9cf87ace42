/**
 * Whether the vendor granted none of the requested group scopes, because the user declined or removed them. The user
 * then counts as a member of no group. Otherwise a former administrator could keep the rights by declining.
 *
 * @param granted null or undefined if the vendor does not name the scopes, which means all (RFC 6749, section 5.1)
 */
export function isGroupScopeDeclined(
  requested: readonly string[],
  granted: readonly string[] | null | undefined,
): boolean {
  if (requested.length === 0 || !granted) return false
  // Microsoft returns each granted scope with or without the API's address in front.
  return !requested.some((scope) => granted.some((name) => name === scope || name.endsWith(`/${scope}`)))
}
