import { withoutSuffix } from '../../config/rules/issuer-spelling.ts'

const WELL_KNOWN = '/.well-known/openid-configuration'

/** The address of an issuer's discovery document. Source: OpenID Connect Discovery 1.0, section 4. */
export function discoveryAddress(configured: string): string {
  return baseOf(withoutSuffix(configured)) + WELL_KNOWN
}

/**
 * Whether a published issuer is the configured one. IdPs and administrators often differ in a trailing slash, or the
 * administrator wrote the address of the discovery document. Nothing else may differ: another path is another issuer on
 * the same server, possibly an attacker's.
 */
export function isSameIssuer(configured: string, published: string): boolean {
  const configuredIssuer = withoutSuffix(configured)
  if (!isPlain(configuredIssuer) || !isPlain(published)) return false
  if (baseOf(configuredIssuer) === baseOf(published)) return true
  const [from, to] = [new URL(configuredIssuer), new URL(published)]
  return isOfNamedTenant(from, to) || isOfExternalTenant(from, to)
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

const TENANT = /^\/([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\/v2\.0\/?$/i

/**
 * Microsoft's clouds: the global one, the one of the US government, and the one in China. Each publishes issuers on its
 * own host.
 *
 * @see https://learn.microsoft.com/entra/identity-platform/authentication-national-cloud
 */
const CLOUDS: readonly string[] = [
  'https://login.microsoftonline.com',
  'https://login.microsoftonline.us',
  'https://login.partner.microsoftonline.cn',
]

/**
 * Microsoft's clouds accept a directory's domain name instead of its id, and publish the id. A directory at
 * b2clogin.com publishes its id for each of its policies. This is safe, because the configured server itself says so
 * over TLS, for this directory only.
 */
function isOfNamedTenant(configured: URL, published: URL): boolean {
  if (configured.origin !== published.origin || !TENANT.test(published.pathname)) return false
  const isDirectory = /^\/[^/.]+\.[^/]+\/v2\.0\/?$/.test(configured.pathname)
  return (
    (CLOUDS.includes(configured.origin) && isDirectory) ||
    (configured.protocol === 'https:' && /\.b2clogin\.com$/.test(configured.hostname))
  )
}

/**
 * Entra External ID serves a directory at its name and publishes an issuer at the directory's id:
 * `https://<name>.ciamlogin.com/<id>/v2.0` becomes `https://<id>.ciamlogin.com/<id>/v2.0`. The id must be the
 * configured one everywhere, because every other directory belongs to another company.
 */
function isOfExternalTenant(configured: URL, published: URL): boolean {
  const [tenant, publishedTenant] = [configured, published].map(({ pathname }) =>
    TENANT.exec(pathname)?.[1]?.toLowerCase(),
  )
  const isAtName = /^https:\/\/[a-z0-9-]+\.ciamlogin\.com$/.test(configured.origin)
  return (
    isAtName &&
    tenant !== undefined &&
    publishedTenant === tenant &&
    published.origin === `https://${tenant}.ciamlogin.com`
  )
}
