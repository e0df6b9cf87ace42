const WELL_KNOWN = /\/\.well-known\/openid-configuration\/?$/

/** Removes `/.well-known/openid-configuration`, which some administrators copy along with the issuer. */
export function withoutSuffix(issuer: string): string {
  return issuer.replace(WELL_KNOWN, '')
}

/**
 * Normalizes an issuer for comparisons: its scheme, host, default port, trailing slash and discovery path. A text that
 * is not an address stays unchanged.
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
