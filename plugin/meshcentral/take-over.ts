import { isJsonObject } from '../config/json/json-object.ts'
import { withoutHostMembers } from '../config/meshcentral/host-members.ts'
import type { CustomSettings } from '../config/settings.ts'
import type { Members, MeshDomain, MeshWeb } from './server.ts'

/** A domain whose own strategy was taken out of the configuration, with the `oidc` object that it had. */
export interface TakenDomain {
  readonly domain: MeshDomain
  readonly oidc: unknown
}

/**
 * Takes the `oidc` object out of every domain, before MeshCentral sets its own strategies up: then it has none of that
 * kind, whatever becomes of ours. A domain that only shares files has no login. Domains that have their strategies from
 * `domaindefaults` share one object, so each of them gets a copy.
 */
export function takeOver(domains: Readonly<Record<string, MeshDomain>>): ReadonlyMap<string, TakenDomain> {
  const taken = new Map<string, TakenDomain>()
  for (const [id, domain] of Object.entries(domains)) {
    const { authstrategies } = domain
    if (typeof authstrategies !== 'object' || authstrategies === null || authstrategies.oidc === undefined) continue
    if (domain.share !== undefined && domain.share !== null) continue
    const { oidc, ...others } = authstrategies
    taken.set(id, { domain, oidc: structuredClone(oidc) })
    // Where it has none of its own MeshCentral sends no request through Passport.js, which took each 30 us of CPU time,
    // a small file 500.
    if (Object.keys(others).length === 0) delete domain.authstrategies
    else domain.authstrategies = structuredClone(others)
  }
  return taken
}

/**
 * What MeshCentral's own pages look for: the login page shows its button (of the preset, where that has one), the list
 * of user groups refuses groups made by hand while all groups are mirrored (not where some are), and its logout finds
 * an issuer without a logout address. No route comes from it, and no secret is in it.
 *
 * @param preset of the domain's settings
 * @param mirrors whether all groups of the IdP are mirrored
 * @param button text and icon, which the login page shows from version 1.1.56 on
 */
export function showButton(
  { domain }: TakenDomain,
  preset: string | null,
  mirrors: boolean,
  button: Partial<Pick<CustomSettings, 'buttonText' | 'buttonIconUrl' | 'buttonIconUrl2x'>> = {},
): void {
  const groups = mirrors ? { groups: { sync: true } } : {}
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
 * Behind `tlsOffload` MeshCentral knows a domain by its host name only where it finds a certificate of it,
 * `webserver-<id>-cert-public.crt`: else logins there begin in the default domain, and no answer finds its own. The
 * proxy has that certificate, and the name is enough.
 */
export function routeByName(
  taken: ReadonlyMap<string, TakenDomain>,
  { dnsDomains }: Pick<MeshWeb, 'dnsDomains'>,
): void {
  if (!dnsDomains) return
  for (const { domain } of taken.values()) if (domain.dns) dnsDomains[domain.dns.toLowerCase()] ??= domain
}

/** Takes what `showButton` put there out again. */
export function hideButtons(taken: ReadonlyMap<string, TakenDomain>): void {
  for (const { domain } of taken.values()) delete domain.authstrategies?.oidc
}

/** The name in the certificate that MeshCentral makes without `settings.cert`. */
const NO_NAME = 'un-configured'

/**
 * The configuration as the plugin reads it: the addresses that the server has really taken, and the `oidc` objects as
 * they were.
 */
export function pluginConfig(
  taken: ReadonlyMap<string, TakenDomain>,
  server: { readonly hostName: string; readonly port: unknown },
): object {
  const domains = [...taken].map(([id, { domain, oidc }]) => {
    const { dns, title, newaccounts, oidccredentials } = domain
    const own: Members = { authStrategies: { oidc: isJsonObject(oidc) ? withoutHostMembers(oidc) : oidc } }
    if (dns !== undefined && dns !== null) own.dns = dns
    if (title !== undefined) own.title = title
    if (newaccounts !== undefined) own.newAccounts = newaccounts
    if (oidccredentials !== undefined) own.oidcCredentials = oidccredentials
    return [id, own] as const
  })
  const cert = server.hostName === NO_NAME ? {} : { cert: server.hostName }
  return { settings: { ...cert, port: server.port }, domains: Object.fromEntries(domains) }
}
