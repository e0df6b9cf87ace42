import type { JsonObject } from '../json/json-object.ts'
import { jsonPath } from '../json/json-path.ts'
import type { Problem, Warning } from '../problem.ts'
import { type FoundDomain, soleMember } from './find-domains.ts'
import { withoutTrailingSlashes } from './trailing-slashes.ts'

/** Under which address browsers reach a domain. */
export interface DomainAddress {
  /** Lower case; a name beyond ASCII in its `xn--` form, as browsers send it. */
  readonly hostName: string
  /** Without a trailing slash. */
  readonly origin: string
  /** Slashes at both ends. */
  readonly basePath: string
}

/** What a host that knows its addresses better than its configuration file says of them. */
export interface HostAddresses {
  /** Path below which a domain is served, with slashes at both ends. A path other than `/` needs no `dns`. */
  readonly basePathOf?: (domainKey: string) => string | undefined
  /** Scheme, host and port under which browsers reach a domain, in place of `https://`, host name and port. */
  readonly originOf?: (domainKey: string) => string | undefined
  /** Whether a port that is written as text is ignored, as MeshCentral does. Default false: it is a problem. */
  readonly ignoresTextPorts?: boolean
}

/** What the configuration says of a domain's address. */
export interface AddressReading {
  /** Null where it does not say enough; the problems tell what is missing. */
  readonly address: DomainAddress | null
  readonly problems: readonly Problem[]
  readonly warnings: readonly Warning[]
}

/**
 * Where browsers reach a domain.
 * Source: Server settings needed by the strategy; the port is `settings.aliasPort`, else `settings.port`, else 443.
 *
 * @param redirectUri the one that is configured: without `settings.cert` it says where the domain is
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
  const hostName = nameOfHost(name.value)
  if (!hasOwnName && name.value === undefined) {
    const redirect = typeof redirectUri === 'string' && URL.canParse(redirectUri) ? new URL(redirectUri) : undefined
    if (redirect?.hostname) return addressOf(redirect, basePath)
  }

  const given = host.originOf?.(key)
  const port = given === undefined ? portOf(settings, host) : { value: 443, problems: [] }
  const problems = [
    ...name.problems,
    ...(hostName === null ? [nameProblem(namePath, name.value === undefined)] : []),
    ...port.problems,
  ]
  if (hostName === null || problems.length > 0) return { address: null, problems, warnings: [] }
  const ownOrigin = `https://${hostName}${port.value === 443 ? '' : `:${port.value}`}`
  const origin = given === undefined ? ownOrigin : withoutTrailingSlashes(given)
  return { address: { hostName, origin, basePath }, problems: [], warnings: [] }
}

/** Without `settings.cert`, the place that the IdP sends browsers to is the only one that is known. */
function addressOf({ hostname, origin }: URL, basePath: string): AddressReading {
  const warning: Warning = {
    code: 'host_name_missing',
    path: 'settings.cert',
    reason: 'is missing: every address of this server is taken from client.redirect_uri',
    remedy: 'Write the host name that browsers use. Without it MeshCentral makes a certificate without a name.',
  }
  return { address: { hostName: hostname, origin, basePath }, problems: [], warnings: [warning] }
}

function nameProblem(path: string, missing: boolean): Problem {
  const remedy = 'Write the host name that browsers use for this domain, alone: no scheme, port or path.'
  return { path, reason: missing ? 'is missing' : 'must be a host name', remedy }
}

/** A host name as browsers send it: lower case, `xn--` form; null for anything else. */
export function nameOfHost(value: unknown): string | null {
  if (typeof value !== 'string' || !/^[\p{L}\p{N}\p{M}_.-]+$/u.test(value)) return null
  try {
    return new URL(`https://${value}`).hostname
  } catch {
    return null
  }
}

function portOf(
  settings: JsonObject,
  { ignoresTextPorts = false }: HostAddresses,
): { readonly value: number; readonly problems: readonly Problem[] } {
  const alias = portMember(settings, 'aliasPort', ignoresTextPorts)
  const isAlias = alias.value !== undefined && alias.value !== null
  const chosen = isAlias ? alias : portMember(settings, 'port', ignoresTextPorts)
  const value = chosen.value ?? 443
  const problems = isAlias ? alias.problems : [...alias.problems, ...chosen.problems]
  if (typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65_535) return { value, problems }
  const remedy =
    'Write the port that browsers connect to; where that is not the one listened on, in settings.aliasPort.'
  const path = jsonPath(['settings', isAlias ? 'aliasPort' : 'port'])
  return { value: 443, problems: [...problems, { path, reason: 'must be 1 to 65535', remedy }] }
}

function portMember(settings: JsonObject, name: string, ignoresText: boolean) {
  const member = soleMember(settings, name, ['settings'])
  return ignoresText && typeof member.value !== 'number' ? { ...member, value: undefined } : member
}
