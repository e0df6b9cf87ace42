const WELL_KNOWN = /\/\.well-known\/openid-configuration\/?$/

/**
 * Removes the suffix of the discovery document, because some administrators write that address instead of the issuer.
 */
export function withoutSuffix(issuer: string): string {
  return issuer.replace(WELL_KNOWN, '')
}

/**
 * Returns a normalized spelling of an issuer, for comparisons. It removes harmless differences: a trailing slash,
 * capitals in scheme and host, a default port, the suffix of the discovery document, and a missing `https://`. A text
 * that is not an address stays as it is.
 */
export function issuerSpelling(issuer: string): string {
  const address = withoutSuffix(/^[a-z]+:\/\//i.test(issuer) ? issuer : `https://${issuer}`)
  if (!URL.canParse(address)) return issuer
  const { href, origin, pathname, search, hash, username } = new URL(address)
  if (`${search}${hash}${username}` !== '') return href
  // If there are several slashes, none is removed: an issuer with an empty last segment is a different one.
  return origin + pathname.replace(/(?<!\/)\/$/, '')
}

/** Whether two texts name the same issuer. */
export function isSameSpelling(first: string, second: string): boolean {
  return first === second || issuerSpelling(first) === issuerSpelling(second)
}
