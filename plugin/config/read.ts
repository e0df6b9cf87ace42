import type { SecretFileOptions } from './credentials/client-secret-file.ts'
import { type CredentialOptions, NO_CREDENTIALS, readCredentials } from './credentials/credentials.ts'
import { checkKeysNeeded } from './credentials/credentials-needed.ts'
import { domainSettings } from './defaults.ts'
import { type DomainAddress, domainAddress, type HostAddresses } from './domains/domain-address.ts'
import { type FoundDomain, findDomains, soleMember } from './domains/find-domains.ts'
import { isJsonObject, type JsonObject } from './json/json-object.ts'
import { jsonPath } from './json/json-path.ts'
import { spellingsOf } from './json/member-name.ts'
import { notBoolean, type OidcReader, oidcReader } from './oidc-reading.ts'
import type { Finding, Problem, Steps, Warning } from './problem.ts'
import type { PresetRules, UrlOverrides } from './rules/preset-rules.ts'
import { checkRedirectAddress } from './rules/redirect-address.ts'
import { oidcSchema } from './rules/schema/schema.ts'
import { schemaCheck } from './rules/schema/schema-check.ts'
import type { DomainSettings } from './settings.ts'

export type { CredentialFiles } from './credentials/credentials.ts'
export type { Problem, Warning, WarningCode } from './problem.ts'

export interface ConfigReadOptions
  extends Omit<HostAddresses, 'ignoresTextPorts'>,
    CredentialOptions,
    SecretFileOptions {
  /** Base URLs that replace those of the vendors. For sovereign clouds and tests. */
  readonly presets?: UrlOverrides
  /**
   * How to report unknown members of the issuer, client and custom objects. Default `error`. Unknown members of the
   * groups object are always errors.
   */
  readonly unknownKeys?: 'error' | 'warn'
  /**
   * Whether members of `custom` can select a preset, as in MeshCentral's built-in strategy. A configured issuer then
   * replaces that of a preset that `custom.preset` did not choose. Default false.
   */
  readonly inferPresets?: boolean
  /** Whether groups can give rights to accounts on this host. Default false: `groups.rights` causes a warning. */
  readonly hasRights?: boolean
  /**
   * Whether to read it as MeshCentral does. Default false. If true:
   * - Names that begin with `_` are comments.
   * - `domaindefaults` applies.
   * - A port in a string is ignored.
   * - A `newAccounts` that is not a boolean means false.
   */
  readonly meshCentral?: boolean
}

/** The result of reading one domain's configuration. */
export interface DomainReading {
  readonly key: string
  /** The domain's `title`, or null if it has none. */
  readonly title: string | null
  /** The domain's settings. Null if and only if there are problems. */
  readonly settings: DomainSettings | null
  readonly problems: readonly Problem[]
  readonly warnings: readonly Warning[]
}

export interface Readings {
  /** The domains with `authStrategies.oidc`, in the order of the file. */
  readonly domains: readonly DomainReading[]
  /** Problems that make the whole configuration unusable. If there are any, `domains` is empty. */
  readonly problems: readonly Problem[]
}

/**
 * Reads a server's configuration. Returns the frozen settings of each domain, or all its mistakes. Never throws, even
 * for a malformed `config`.
 */
export type DomainReader = (config: unknown, options?: ConfigReadOptions) => Readings

/** Returns a function that reads a server's configuration, in which `custom.preset` may be any of the given presets. */
export function domainReader(presets: readonly PresetRules[]): DomainReader {
  const schema = oidcSchema(presets)
  const rules = { presets, schema, check: schemaCheck(schema) }
  return (config, options = {}) => {
    const { settings, domains, problems } = findDomains(config, options)
    const claimed = new Map<string, string>()
    const readOidc = oidcReader(rules, options)
    const read = (domain: FoundDomain) => readDomain(domain, settings, options, claimed, readOidc)
    return deepFreeze({ domains: domains.map(read), problems })
  }
}

/**
 * Reads one domain.
 *
 * @param claimed maps the address of each domain read so far to the domain's key
 */
function readDomain(
  entry: FoundDomain,
  settings: JsonObject,
  options: ConfigReadOptions,
  claimed: Map<string, string>,
  readOidc: OidcReader,
): DomainReading {
  const { key, domain } = entry
  const titles = spellingsOf(domain, 'title').map((name) => domain[name])
  const title = titles.find((value) => typeof value === 'string') ?? null
  const { oidc, findings: common, withoutKeys, origins, usable } = readOidc(entry.oidc)
  const { meshCentral = false } = options
  const redirectUri = isJsonObject(oidc.client) ? oidc.client.redirect_uri : undefined
  const host = { basePathOf: options.basePathOf, originOf: options.originOf, ignoresTextPorts: meshCentral }
  const place = domainAddress(entry, settings, host, redirectUri)
  const { address } = place
  const addressProblems = [
    ...entry.problems,
    ...place.problems,
    ...(address ? claimAddress(entry, address, claimed) : []),
  ]

  const files = readCredentials(entry, options)
  const keysNeeded = files.credentials === NO_CREDENTIALS ? withoutKeys : checkKeysNeeded(oidc, files.credentials)
  const findings = [
    ...common,
    // Report missing keys only if the key files have no mistakes. A corrected file may supply the missing keys.
    ...(files.findings.every(({ warning }) => warning) ? keysNeeded : []),
    ...(address ? checkRedirectAddress(oidc, address) : []),
  ]
  const placed = [
    ...findings.map((finding) => ({ ...finding, steps: [...entry.steps, ...asWritten(finding.steps, origins)] })),
    ...(meshCentral ? checkDomainsNewAccounts(entry) : []),
    ...files.findings.map((finding) => ({ ...finding, steps: [...files.steps, ...finding.steps] })),
  ]
  const toProblem = ({ steps, reason, remedy }: Finding): Problem => ({ path: jsonPath(steps), reason, remedy })
  const problems = onePerPath([
    ...addressProblems,
    ...placed.filter(({ warning }) => warning === undefined).map((finding) => toProblem(finding)),
  ])
  const warnings = onePerPath([
    ...place.warnings,
    ...placed.flatMap((finding) => (finding.warning ? [{ code: finding.warning, ...toProblem(finding) }] : [])),
  ])
  const complete =
    problems.length === 0 && address && usable ? domainSettings(key, usable, address, files.credentials) : null
  return { key, title, settings: complete, problems, warnings }
}

/** Checks the domain's own `newAccounts`, which applies if the `oidc` object has none. */
function checkDomainsNewAccounts({ key, domain }: FoundDomain): readonly Finding[] {
  const { value } = soleMember(domain, 'newAccounts', [])
  if (value === undefined || value === null || typeof value === 'boolean') return []
  return [notBoolean(['domains', key, 'newAccounts'])]
}

/**
 * Reports two domains with the same address. The plugin selects a request's domain by host name and path, so it could
 * not distinguish them.
 */
function claimAddress({ key }: FoundDomain, address: DomainAddress, claimed: Map<string, string>): readonly Problem[] {
  const place = `${address.hostName} ${address.basePath}`
  const otherKey = claimed.get(place)
  if (otherKey === undefined) {
    claimed.set(place, key)
    return []
  }
  const reason = `is the host name of ${jsonPath(['domains', otherKey])} too`
  return [{ path: jsonPath(['domains', key, 'dns']), reason, remedy: 'Give each domain a host name of its own.' }]
}

/**
 * Returns the path at which the configuration file contains a value. For a value that was moved, that is the path of
 * its deprecated key.
 */
function asWritten(steps: Steps, origins: ReadonlyMap<string, Steps>): Steps {
  for (let length = steps.length; length > 0; length--) {
    const origin = origins.get(jsonPath(steps.slice(0, length)))
    if (origin) return [...origin, ...steps.slice(length)]
  }
  return steps
}

/** Keeps only the first problem or warning for each path, because one mistake can break several rules. */
function onePerPath<Item extends Problem>(items: readonly Item[]): readonly Item[] {
  const byPath = new Map<string, Item>()
  for (const item of items) if (!byPath.has(item.path)) byPath.set(item.path, item)
  return [...byPath.values()]
}

function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value
  for (const member of Object.values(value)) deepFreeze(member)
  return Object.freeze(value)
}
