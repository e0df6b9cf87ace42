import type { SecretFileOptions } from './credentials/client-secret-file.ts'
import { type CredentialOptions, NO_CREDENTIALS, readCredentials } from './credentials/credentials.ts'
import { checkKeysNeeded } from './credentials/credentials-needed.ts'
import { fillIn } from './defaults.ts'
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
  /** Base URLs that take the place of the vendors' own: sovereign clouds, tests. */
  readonly presets?: UrlOverrides
  /**
   * What an unknown member of the issuer, client and custom objects is; default `error`. In the groups object it is
   * always an error.
   */
  readonly unknownKeys?: 'error' | 'warn'
  /**
   * Whether a member of the custom object that only one preset has means that preset, as with MeshCentral's own
   * strategy; default false. A configured issuer then stands in place of the preset's.
   */
  readonly inferPresets?: boolean
  /** Whether accounts of the host have rights that groups can give; default false: `groups.rights` is a warning. */
  readonly hasRights?: boolean
  /**
   * Whether the configuration is read as MeshCentral reads it; default false. Names that begin with `_` are comments,
   * `domaindefaults` applies, a port that is a text is ignored, and a `newAccounts` that is no boolean counts as false.
   */
  readonly meshCentral?: boolean
}

/** What the configuration says of one domain's strategy. */
export interface DomainReading {
  readonly key: string
  /** The domain's `title`, where it has one. */
  readonly title: string | null
  /** Null exactly when there are problems. */
  readonly settings: DomainSettings | null
  readonly problems: readonly Problem[]
  readonly warnings: readonly Warning[]
}

export interface Readings {
  /** The domains that have `authStrategies.oidc`, in the file's order. */
  readonly domains: readonly DomainReading[]
  /** What makes the configuration unusable as a whole; then there are no domains. */
  readonly problems: readonly Problem[]
}

/**
 * A server's whole configuration to the settings of each domain's strategy, or everything that is wrong with it at
 * once. One domain's mistakes never touch another. Never throws on any `config`; the result is frozen.
 */
export type DomainReader = (config: unknown, options?: ConfigReadOptions) => Readings

/** A reader that knows these presets. */
export function domainReader(presets: readonly PresetRules[]): DomainReader {
  const schema = oidcSchema(presets)
  const rules = { presets, schema, check: schemaCheck(schema) }
  return (config, options = {}) => {
    const { settings, domains, problems } = findDomains(config, options)
    const taken = new Map<string, string>()
    const readOidc = oidcReader(rules, options)
    const read = (found: FoundDomain) => readDomain(found, settings, options, taken, readOidc)
    return deepFreeze({ domains: domains.map(read), problems })
  }
}

/** `taken` remembers which domain is served where, from one domain to the next. */
function readDomain(
  found: FoundDomain,
  settings: JsonObject,
  options: ConfigReadOptions,
  taken: Map<string, string>,
  readOidc: OidcReader,
): DomainReading {
  const { key, domain } = found
  const titles = spellingsOf(domain, 'title').map((name) => domain[name])
  const title = titles.find((value) => typeof value === 'string') ?? null
  const { oidc, findings: common, withoutKeys, origins, usable } = readOidc(found.oidc)
  const { meshCentral = false } = options
  const redirectUri = isJsonObject(oidc.client) ? oidc.client.redirect_uri : undefined
  const place = domainAddress(found, settings, { ...options, ignoresTextPorts: meshCentral }, redirectUri)
  const { address } = place
  const elsewhere = [...found.problems, ...place.problems, ...(address ? claimAddress(found, address, taken) : [])]

  const files = readCredentials(found, options)
  const keysNeeded = files.credentials === NO_CREDENTIALS ? withoutKeys : checkKeysNeeded(oidc, files.credentials)
  const findings = [
    ...common,
    // What is wrong with the files is told by itself: mending it may be all.
    ...(files.findings.every(({ warning }) => warning) ? keysNeeded : []),
    ...(address ? checkRedirectAddress(oidc, address) : []),
  ]
  const placed = [
    ...findings.map((one) => ({ ...one, at: [...found.at, ...asWritten(one.at, origins)] })),
    ...(meshCentral ? checkDomainsNewAccounts(found) : []),
    ...files.findings.map((one) => ({ ...one, at: [...files.at, ...one.at] })),
  ]
  const toProblem = ({ at, reason, remedy }: Finding): Problem => ({ path: jsonPath(at), reason, remedy })
  const problems = onePerPath([
    ...elsewhere,
    ...placed.filter(({ warning }) => warning === undefined).map((finding) => toProblem(finding)),
  ])
  const warnings = onePerPath([
    ...place.warnings,
    ...placed.flatMap((finding) => (finding.warning ? [{ code: finding.warning, ...toProblem(finding) }] : [])),
  ])
  const finished = problems.length === 0 && address && usable ? fillIn(key, usable, address, files.credentials) : null
  return { key, title, settings: finished, problems, warnings }
}

/** The domain's own setting, which decides where the `oidc` object has none. */
function checkDomainsNewAccounts({ key, domain }: FoundDomain): readonly Finding[] {
  const { value } = soleMember(domain, 'newAccounts', [])
  if (value === undefined || value === null || typeof value === 'boolean') return []
  return [notBoolean(['domains', key, 'newAccounts'])]
}

/** A request is matched by host name and path: two domains in one place could not be told apart. */
function claimAddress({ key }: FoundDomain, address: DomainAddress, taken: Map<string, string>): readonly Problem[] {
  const place = `${address.hostName} ${address.basePath}`
  const other = taken.get(place)
  if (other === undefined) {
    taken.set(place, key)
    return []
  }
  const reason = `is the host name of ${jsonPath(['domains', other])} too`
  return [{ path: jsonPath(['domains', key, 'dns']), reason, remedy: 'Give each domain a host name of its own.' }]
}

/** Where a value stands in the file: under its deprecated key, if it was moved from there. */
function asWritten(at: Steps, origins: ReadonlyMap<string, Steps>): Steps {
  for (let length = at.length; length > 0; length--) {
    const origin = origins.get(jsonPath(at.slice(0, length)))
    if (origin) return [...origin, ...at.slice(length)]
  }
  return at
}

/** One mistake can break several rules; the first that speaks of a place has said enough. */
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
