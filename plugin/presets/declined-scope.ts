/**
 * Whether the user let the vendor grant none of the scopes for groups, by declining them or by taking them out of the
 * address. That is the user's choice: with *unknown* memberships, a former admin would stay admin by declining.
 *
 * @param asked scopes for groups that the login asked for
 * @param granted null or undefined: the vendor does not say, which means all that were asked for (RFC 6749, section
 *   5.1)
 */
export function isGroupScopeDeclined(asked: readonly string[], granted: readonly string[] | null | undefined): boolean {
  if (asked.length === 0 || !granted) return false
  // Microsoft names them with or without the address of the API.
  return !asked.some((scope) => granted.some((one) => one === scope || one.endsWith(`/${scope}`)))
}
