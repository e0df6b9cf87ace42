const WELL_KNOWN = /\/\.well-known\/openid-configuration\/?$/

/**
 * Removes `/.well-known/openid-configuration` from the end of an issuer, because some administrators configure the
 * address of the discovery document instead of the issuer.
 */
export function withoutSuffix(issuer: string): string {
  return issuer.replace(WELL_KNOWN, '')
}

/**
 * Returns a normalized spelling of an issuer, for comparisons. Removes a trailing slash, a default port and
 * `/.well-known/openid-configuration`. Converts scheme and host to lower case, and adds a missing `https://`. If the
 * text is not an address, returns it unchanged.
 */
export function issuerSpelling(issuer: string): string {
  const address = withoutSuffix(/^[a-z]+:\/\//i.test(issuer) ? issuer : `https://${issuer}`)
  if (!URL.canParse(address)) return issuer
  const { href, origin, pathname, search, hash, username } = new URL(address)
  if (`${search}${hash}${username}` !== '') return href
  // Remove only a single trailing slash. With several slashes, the issuer has an empty last segment, so it is a
  // different issuer.
  return origin + pathname.replace(/(?<!\/)\/$/, '')
}

/** Whether two texts name the same issuer. */
export function isSameSpelling(first: string, second: string): boolean {
  return first === second || issuerSpelling(first) === issuerSpelling(second)
}
