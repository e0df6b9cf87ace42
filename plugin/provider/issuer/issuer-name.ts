import { withoutSuffix } from '../../config/rules/issuer-spelling.ts'

const WELL_KNOWN = '/.well-known/openid-configuration'

/** Returns the address of an issuer's discovery document. Source: OpenID Connect Discovery 1.0, section 4. */
export function discoveryAddress(configured: string): string {
  return baseOf(withoutSuffix(configured)) + WELL_KNOWN
}

/**
 * Whether a published issuer is the configured one, apart from a trailing slash or the discovery document's path.
 * Another path is another issuer on the server, possibly an attacker's.
 */
export function isSameIssuer(configured: string, published: string): boolean {
  const configuredIssuer = withoutSuffix(configured)
  if (!isPlain(configuredIssuer) || !isPlain(published)) return false
  return baseOf(configuredIssuer) === baseOf(published) || isOfMicrosoftTenant(configuredIssuer, published)
}

/**
 * Whether Microsoft publishes this issuer for the configured one: it replaces a tenant's name with its id. Some of
 * these have no discovery document.
 */
export function isOfMicrosoftTenant(configured: string, published: string): boolean {
  const [from, to] = [new URL(withoutSuffix(configured)), new URL(published)]
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
 * Microsoft's clouds: global, US government, and China.
 *
 * @see https://learn.microsoft.com/entra/identity-platform/authentication-national-cloud
 */
const CLOUDS: readonly string[] = [
  'https://login.microsoftonline.com',
  'https://login.microsoftonline.us',
  'https://login.partner.microsoftonline.cn',
]

/**
 * Whether the published issuer has a directory's id where the configured one has its domain name, or a policy at
 * b2clogin.com. This is safe, because the configured server itself publishes the id over TLS, for this directory only.
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
 * Whether Entra External ID publishes this issuer for the configured one: `https://<id>.ciamlogin.com/<id>/v2.0` for
 * `https://<name>.ciamlogin.com/<id>/v2.0`. All ids must be equal, because other directories belong to other companies.
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
