const WELL_KNOWN = '/.well-known/openid-configuration'

/** Where an issuer's discovery document lies. Source: OpenID Connect Discovery 1.0, section 4. */
export function discoveryAddress(configured: string): string {
  return baseOf(withoutSuffix(configured)) + WELL_KNOWN
}

/** An issuer as it was meant: some write the address of its discovery document. */
export function withoutSuffix(configured: string): string {
  return configured.replace(/\/\.well-known\/openid-configuration\/?$/, '')
}

/**
 * Whether a published issuer is the one that was configured. What IdPs and administrators differ in is a slash at the end, and that the
 * address of the discovery document is taken for the issuer. Nothing else may differ: another path is another issuer of the same server,
 * which may be anybody's.
 */
export function isSameIssuer(configured: string, published: string): boolean {
  const meant = withoutSuffix(configured)
  if (!isPlain(meant) || !isPlain(published)) return false
  return baseOf(meant) === baseOf(published) || isOfNamedTenant(new URL(meant), new URL(published))
}

function isPlain(issuer: string): boolean {
  if (!URL.canParse(issuer)) return false
  const { username, password, search, hash } = new URL(issuer)
  return `${username}${password}${search}${hash}` === ''
}

function baseOf(issuer: string): string {
  const { origin, pathname } = new URL(issuer)
  return origin + pathname.replace(/\/$/, '')
}

const TENANT = /^\/[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\/v2\.0\/?$/i

/**
 * Microsoft's cloud takes a directory's domain name in the place of its id, and publishes the id; its logins for customers publish the
 * id for each of their policies. The same server has said so over TLS, for this one directory.
 */
function isOfNamedTenant(configured: URL, published: URL): boolean {
  if (configured.origin !== published.origin || !TENANT.test(published.pathname)) return false
  const isDirectory = /^\/[^/]+\.[^/]+\/v2\.0\/?$/.test(configured.pathname)
  return (
    (configured.origin === 'https://login.microsoftonline.com' && isDirectory) ||
    /\.b2clogin\.com$/.test(configured.hostname)
  )
}
