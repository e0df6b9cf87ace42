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
 * Removes the `oidc` object from every domain before MeshCentral sets up its strategies. So its own OpenID Connect
 * strategy is never active, even if the plugin fails to start.
 */
export function takeOver(domains: Readonly<Record<string, MeshDomain>>): ReadonlyMap<string, TakenDomain> {
  const takenDomains = new Map<string, TakenDomain>()
  for (const [id, domain] of Object.entries(domains)) {
    const { authstrategies } = domain
    if (typeof authstrategies !== 'object' || authstrategies === null || authstrategies.oidc === undefined) continue
    // A domain that only shares files has no login.
    if (domain.share !== undefined && domain.share !== null) continue
    const { oidc, ...otherStrategies } = authstrategies
    takenDomains.set(id, { domain, oidc: structuredClone(oidc) })
    // Without strategies, MeshCentral does not use Passport.js. This saves 30 of the 500 µs of CPU time for a small
    // file. Domains may share one object, so copy it.
    if (Object.keys(otherStrategies).length === 0) delete domain.authstrategies
    else domain.authstrategies = structuredClone(otherStrategies)
  }
  return takenDomains
}

/**
 * Gives a domain a minimal `oidc` object for MeshCentral's own pages. It shows the login button, and forbids manual
 * groups if `mirrorsAll`. It adds no route and contains no secret.
 *
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
    // MeshCentral's logout reads `issuer`, and finds no logout address in it.
    oidc: { issuer: {}, client: {}, custom, ...groups },
  }
}

/**
 * Makes MeshCentral find domains by their host names. Behind `tlsOffload`, it would need the domain's certificate
 * (`webserver-<id>-cert-public.crt`), which only the proxy has. Logins would start in the default domain.
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
