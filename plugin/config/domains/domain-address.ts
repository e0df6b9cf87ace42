import type { JsonObject } from '../json/json-object.ts'
import { jsonPath } from '../json/json-path.ts'
import type { Problem, Warning } from '../problem.ts'
import { type FoundDomain, soleMember } from './find-domains.ts'
import { withoutTrailingSlashes } from './trailing-slashes.ts'

/** The address at which browsers reach a domain. */
export interface DomainAddress {
  /** The host name in lower case. Non-ASCII names are in `xn--` form, as browsers send them. */
  readonly hostName: string
  /** Scheme, host and port, without a trailing slash. */
  readonly origin: string
  /** The path below which the domain is served, with slashes at both ends. */
  readonly basePath: string
}

/** Addresses of domains that the server passes to the plugin. They override those in the configuration file. */
export interface HostAddresses {
  /** Returns the path of a domain, with slashes at both ends. With another path than `/`, it needs no `dns`. */
  readonly basePathOf?: ((domainKey: string) => string | undefined) | undefined
  /**
   * Returns the origin (scheme, host and port) at which browsers reach a domain. It replaces the origin that the
   * configuration determines.
   */
  readonly originOf?: ((domainKey: string) => string | undefined) | undefined
  /**
   * Whether to ignore a port that is written as a string, as MeshCentral does. If false, such a port is reported as a
   * problem.
   */
  readonly ignoresTextPorts: boolean
}

/** The address of a domain, as read from the configuration. */
export interface AddressReading {
  /** Null if the configuration does not determine the domain's address. Then `problems` contains the reasons. */
  readonly address: DomainAddress | null
  readonly problems: readonly Problem[]
  readonly warnings: readonly Warning[]
}

/**
 * Reads the address at which browsers reach a domain. Source: Server settings needed by the strategy.
 *
 * @param redirectUri the configured redirect address, which replaces a missing `settings.cert`
 */
export function domainAddress(
  { key, domain }: FoundDomain,
  settings: JsonObject,
  host: HostAddresses,
  redirectUri?: unknown,
): AddressReading {
  const basePath = host.basePathOf?.(key) ?? '/'
  const dns = soleMember(domain, 'dns', ['domains', key])
  const hasOwnName = key !== '' && (dns.value !== undefined || basePath === '/')
  const name = hasOwnName ? dns : soleMember(settings, 'cert', ['settings'])
  const namePath = jsonPath(hasOwnName ? ['domains', key, 'dns'] : ['settings', 'cert'])
  const hostName = hostNameOf(name.value)
  if (!hasOwnName && name.value === undefined) {
    const redirect = typeof redirectUri === 'string' && URL.canParse(redirectUri) ? new URL(redirectUri) : undefined
    if (redirect?.hostname) return addressOf(redirect, basePath)
  }

  const hostOrigin = host.originOf?.(key)
  const port = hostOrigin === undefined ? portOf(settings, host) : { value: 443, problems: [] }
  const problems = [
    ...name.problems,
    ...(hostName === null ? [nameProblem(namePath, name.value === undefined)] : []),
    ...port.problems,
  ]
  if (hostName === null || problems.length > 0) return { address: null, problems, warnings: [] }
  const ownOrigin = `https://${hostName}${port.value === 443 ? '' : `:${port.value}`}`
  const origin = hostOrigin === undefined ? ownOrigin : withoutTrailingSlashes(hostOrigin)
  return { address: { hostName, origin, basePath }, problems: [], warnings: [] }
}

/**
 * Derives the domain's address from the redirect address. Used if `settings.cert` is missing, because no other setting
 * contains an address.
 */
function addressOf({ hostname, origin }: URL, basePath: string): AddressReading {
  const warning: Warning = {
    code: 'host_name_missing',
    path: 'settings.cert',
    reason: 'is missing, so all addresses of this server are derived from client.redirect_uri',
    remedy: 'Write the host name that browsers use. Without it, MeshCentral creates a certificate without a name.',
  }
  return { address: { hostName: hostname, origin, basePath }, problems: [], warnings: [warning] }
}

function nameProblem(path: string, missing: boolean): Problem {
  const remedy = 'Write only the host name that browsers use for this domain, without scheme, port or path.'
  return { path, reason: missing ? 'is missing' : 'must be a host name', remedy }
}

/**
 * Returns a host name as browsers send it, in lower case and `xn--` form. Returns null if the value is not a host name.
 */
export function hostNameOf(value: unknown): string | null {
  if (typeof value !== 'string' || !/^[\p{L}\p{N}\p{M}_.-]+$/u.test(value)) return null
  try {
    return new URL(`https://${value}`).hostname
  } catch {
    return null
  }
}

function portOf(
  settings: JsonObject,
  { ignoresTextPorts }: HostAddresses,
): { readonly value: number; readonly problems: readonly Problem[] } {
  const alias = portMember(settings, 'aliasPort', ignoresTextPorts)
  const isAlias = alias.value !== undefined && alias.value !== null
  const chosen = isAlias ? alias : portMember(settings, 'port', ignoresTextPorts)
  const value = chosen.value ?? 443
  const problems = isAlias ? alias.problems : [...alias.problems, ...chosen.problems]
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535) return { value, problems }
  const remedy =
    'Write the port that browsers connect to. If the server listens on another port, write it in settings.aliasPort.'
  const path = jsonPath(['settings', isAlias ? 'aliasPort' : 'port'])
  return { value: 443, problems: [...problems, { path, reason: 'must be 1 to 65535', remedy }] }
}

function portMember(settings: JsonObject, name: string, ignoresText: boolean) {
  const member = soleMember(settings, name, ['settings'])
  return ignoresText && typeof member.value !== 'number' ? { ...member, value: undefined } : member
}
