import { isJsonObject } from '../../config/json/json-object.ts'
import { withoutHostMembers } from '../../config/meshcentral/host-members.ts'
import type { CustomSettings } from '../../config/settings.ts'
import type { Members, MeshDomain, MeshWeb } from '../server.ts'

/** A domain, and the `oidc` object that the plugin removed from its configuration. */
export interface TakenDomain {
  readonly domain: MeshDomain
  readonly oidc: unknown
}

/**
 * Removes the `oidc` object from every domain before MeshCentral sets up its own strategies. So the built-in OpenID
 * Connect strategy is never active, even if the plugin's strategy fails to start. A domain that only shares files has
 * no login and stays unchanged. Domains that inherit `authStrategies` from `domaindefaults` share one object, so each
 * domain gets a copy.
 */
export function takeOver(domains: Readonly<Record<string, MeshDomain>>): ReadonlyMap<string, TakenDomain> {
  const takenDomains = new Map<string, TakenDomain>()
  for (const [id, domain] of Object.entries(domains)) {
    const { authstrategies } = domain
    if (typeof authstrategies !== 'object' || authstrategies === null || authstrategies.oidc === undefined) continue
    if (domain.share !== undefined && domain.share !== null) continue
    const { oidc, ...otherStrategies } = authstrategies
    takenDomains.set(id, { domain, oidc: structuredClone(oidc) })
    // If a domain has no strategies, MeshCentral sends no request through Passport.js. This saves 30 µs of CPU time per
    // request, of the 500 µs that serving a small file takes.
    if (Object.keys(otherStrategies).length === 0) delete domain.authstrategies
    else domain.authstrategies = structuredClone(otherStrategies)
  }
  return takenDomains
}

/**
 * Gives a domain a minimal `oidc` object for MeshCentral's own pages. It has three effects. The login page shows the
 * button of OpenID Connect, or the preset's. The page of user groups refuses manual groups if `mirrorsAll`.
 * MeshCentral's logout, which reads `issuer`, finds an empty object without a logout address. The object adds no route
 * and contains no secret.
 *
 * @param preset the domain's preset
 * @param mirrorsAll whether all IdP groups are mirrored
 * @param button text and icon of the button. MeshCentral shows them from version 1.1.56 on
 */
export function showButton(
  { domain }: TakenDomain,
  preset: string | null,
  mirrorsAll: boolean,
  button: Partial<Pick<CustomSettings, 'buttonText' | 'buttonIconUrl' | 'buttonIconUrl2x'>> = {},
): void {
  const groups = mirrorsAll ? { groups: { sync: true } } : {}
  const custom = {
    ...(preset === null ? {} : { preset }),
    ...(button.buttonText === undefined ? {} : { buttontext: button.buttonText }),
    ...(button.buttonIconUrl === undefined ? {} : { buttoniconurl: button.buttonIconUrl }),
    ...(button.buttonIconUrl2x === undefined ? {} : { buttoniconurl2x: button.buttonIconUrl2x }),
  }
  domain.authstrategies = {
    ...domain.authstrategies,
    oidc: { issuer: {}, client: {}, custom, ...groups },
  }
}

/**
 * Makes MeshCentral find domains by their host names. Behind `tlsOffload`, MeshCentral does so only if it finds the
 * domain's certificate, `webserver-<id>-cert-public.crt`. A login on another domain's host name would start in the
 * default domain. Because the proxy has the certificate, this function needs only the host name.
 */
export function routeByName(
  takenDomains: ReadonlyMap<string, TakenDomain>,
  { dnsDomains }: Pick<MeshWeb, 'dnsDomains'>,
): void {
  if (!dnsDomains) return
  for (const { domain } of takenDomains.values()) if (domain.dns) dnsDomains[domain.dns.toLowerCase()] ??= domain
}

/** Removes the buttons that `showButton` added to these domains. */
export function hideButtons(takenDomains: ReadonlyMap<string, TakenDomain>): void {
  for (const { domain } of takenDomains.values()) delete domain.authstrategies?.oidc
}

/** The name in the certificate that MeshCentral creates if `settings.cert` is missing. */
const NO_NAME = 'un-configured'

/** Returns the configuration for the plugin: the server's actual addresses, and the removed `oidc` objects. */
export function pluginConfig(
  takenDomains: ReadonlyMap<string, TakenDomain>,
  server: { readonly hostName: string; readonly port: unknown },
): object {
  const domains = [...takenDomains].map(([id, { domain, oidc }]) => {
    const { dns, title, newaccounts, oidccredentials } = domain
    const members: Members = { authStrategies: { oidc: isJsonObject(oidc) ? withoutHostMembers(oidc) : oidc } }
    if (dns !== undefined && dns !== null) members.dns = dns
    if (title !== undefined) members.title = title
    if (newaccounts !== undefined) members.newAccounts = newaccounts
    if (oidccredentials !== undefined) members.oidcCredentials = oidccredentials
    return [id, members] as const
  })
  const cert = server.hostName === NO_NAME ? {} : { cert: server.hostName }
  return { settings: { ...cert, port: server.port }, domains: Object.fromEntries(domains) }
}
