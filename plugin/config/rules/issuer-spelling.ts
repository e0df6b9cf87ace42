const WELL_KNOWN = /\/\.well-known\/openid-configuration\/?$/

/** Returns an issuer as it was meant: some administrators write the address of its discovery document. */
export function withoutSuffix(issuer: string): string {
  return issuer.replace(WELL_KNOWN, '')
}

/**
 * Returns one spelling of an issuer, for comparisons of whole issuers. Harmless differences are a slash at the end,
 * capitals in scheme and host, a default port, the address of the discovery document, and a missing `https://`. A text
 * that is no address stays as it is.
 */
export function issuerSpelling(issuer: string): string {
  const meant = withoutSuffix(/^[a-z]+:\/\//i.test(issuer) ? issuer : `https://${issuer}`)
  if (!URL.canParse(meant)) return issuer
  const { href, origin, pathname, search, hash, username } = new URL(meant)
  if (`${search}${hash}${username}` !== '') return href
  // Of several slashes, none: an issuer with an empty part at its end is another one.
  return origin + pathname.replace(/(?<!\/)\/$/, '')
}

/** Whether two texts name the same issuer. */
export function isSameSpelling(one: string, other: string): boolean {
  return one === other || issuerSpelling(one) === issuerSpelling(other)
}
