import { serialize } from 'node:v8'
import { readClientSecret, type SecretFileOptions } from './credentials/client-secret-file.ts'
import { NO_CREDENTIALS } from './credentials/credentials.ts'
import { checkKeysNeeded, checkSecretNeeded } from './credentials/credentials-needed.ts'
import { type SharedSettings, sharedSettings } from './defaults.ts'
import { isJsonObject, type JsonObject, membersOf } from './json/json-object.ts'
import { HOST_MEMBERS, withoutHostMembers } from './meshcentral/host-members.ts'
import { moveDeprecatedKeys } from './migration/deprecated-keys.ts'
import { settleLetterCase } from './migration/key-case.ts'
import type { Finding, Steps } from './problem.ts'
import { checkAddresses, checkButton } from './rules/addresses.ts'
import { checkAuthorizationParams } from './rules/authorization-params.ts'
import { checkGroupsSource } from './rules/groups-source.ts'
import { checkIdentityClaim } from './rules/identity-claim.ts'
import { checkPasswordLogin } from './rules/password-login.ts'
import { checkPlaceholders } from './rules/placeholders.ts'
import { checkPreset, checkUnusedMembers, choosePreset, withoutIssuer } from './rules/preset-name.ts'
import type { PresetRules, UrlOverrides } from './rules/preset-rules.ts'
import type { MemberSchema } from './rules/schema/member-schema.ts'
import { type SchemaCheck, withoutUnknown } from './rules/schema/schema-check.ts'
import { checkScopes } from './rules/scope.ts'
import { checkAlgorithms } from './rules/supported/algorithms.ts'
import { checkResponseMode, checkResponseTypes } from './rules/supported/response-types.ts'

/** The result of reading an `oidc` object, without the parts that depend on the domain. */
export interface OidcReading {
  /** The `oidc` object, with canonical names and without unknown members. */
  readonly oidc: JsonObject
  readonly findings: readonly Finding[]
  /**
   * The problems to report if the domain has neither keys nor a certificate. Empty if the `oidc` object requires
   * neither.
   */
  readonly withoutKeys: readonly Finding[]
  /** Maps the new path of each value that was moved from a deprecated key to its old path in the file. */
  readonly origins: ReadonlyMap<string, Steps>
  /** The settings. Null if and only if the findings contain a problem. */
  readonly usable: SharedSettings | null
}

export type OidcReader = (raw: unknown) => OidcReading

export interface OidcReadOptions extends SecretFileOptions {
  readonly presets?: UrlOverrides
  readonly unknownKeys?: 'error' | 'warn'
  readonly inferPresets?: boolean
  readonly hasRights?: boolean
  readonly meshCentral?: boolean
}

export interface OidcRules {
  readonly presets: readonly PresetRules[]
  readonly schema: MemberSchema
  readonly check: SchemaCheck
}

/**
 * Returns a reader that reads equal `oidc` objects only once. Most of 1,000 domains use the same IdP: 295 ms of CPU
 * time instead of 500 ms (benchmark `start.domains`).
 */
export function oidcReader(rules: OidcRules, options: OidcReadOptions): OidcReader {
  const readings = new Map<string, OidcReading>()
  return (raw) => {
    const bytes = bytesOf(raw)
    const earlier = bytes === undefined ? undefined : readings.get(bytes)
    if (earlier) return earlier
    const reading = readUncached(raw, options, rules)
    if (bytes !== undefined) readings.set(bytes, reading)
    return reading
  }
}

/**
 * Returns a cache key that equal objects share. Returns undefined if the object contains a function, for example. Does
 * not use JSON, because JSON writes NaN as null.
 */
function bytesOf(raw: unknown): string | undefined {
  try {
    return serialize(raw).toString('latin1')
  } catch {
    return undefined
  }
}

function readUncached(raw: unknown, options: OidcReadOptions, { presets, schema, check }: OidcRules): OidcReading {
  const { unknownKeys = 'error', inferPresets = false, hasRights = false, presets: urls = {} } = options
  const { meshCentral = false } = options
  if (!isJsonObject(raw)) {
    const finding: Finding = { steps: [], reason: 'must be an object', remedy: schema.description }
    return { oidc: {}, findings: [finding], withoutKeys: [], origins: new Map(), usable: null }
  }
  const members = meshCentral ? withoutHostMembers(withoutSchema(raw)) : withoutSchema(raw)
  const cased = settleLetterCase(members, schema, meshCentral)
  const settled = meshCentral ? settleNewAccounts(cased.oidc) : { oidc: cased.oidc, findings: [] }
  const moved = moveDeprecatedKeys(settled.oidc)
  const { preset, keepsIssuer } = choosePreset(moved.oidc, presets, inferPresets)
  const oidc = preset && !keepsIssuer ? withoutIssuer(moved.oidc) : moved.oidc
  const knownMembers = withoutUnknown(oidc, schema)
  const { named, findings: secretFileFindings } = readClientSecret(knownMembers, options)
  const findings = [
    ...cased.problems,
    ...settled.findings,
    ...moved.warnings,
    ...check.findings(oidc, { unknownKeys, hostMembers: meshCentral ? HOST_MEMBERS : [] }),
    ...secretFileFindings,
    ...checkSecretNeeded(knownMembers),
    ...(preset === null ? needIssuer(oidc.issuer) : []),
    ...(preset ? checkPreset(moved.oidc, preset, keepsIssuer) : []),
    ...(preset === undefined ? [] : checkUnusedMembers(knownMembers, presets, preset)),
    ...(preset === undefined ? [] : checkGroupsSource(knownMembers, preset)),
    ...(hasRights ? [] : checkRights(knownMembers)),
    ...checkPlaceholders(knownMembers),
    ...checkButton(knownMembers),
    ...checkAddresses(knownMembers),
    ...checkResponseTypes(knownMembers),
    ...checkResponseMode(knownMembers),
    ...checkAlgorithms(knownMembers),
    ...checkScopes(knownMembers),
    ...checkAuthorizationParams(knownMembers),
    ...checkIdentityClaim(knownMembers),
    ...checkPasswordLogin(knownMembers, meshCentral),
  ]
  const complete = named ? withSecret(knownMembers, named) : knownMembers
  const fits = preset !== undefined && findings.every(({ warning }) => warning) && check.isOidcConfig(complete)
  const usable = fits ? sharedSettings(complete, preset, urls) : null
  const withoutKeys = checkKeysNeeded(knownMembers, NO_CREDENTIALS)
  return { oidc: knownMembers, findings, withoutKeys, origins: moved.origins, usable }
}

function withSecret(
  oidc: JsonObject,
  { file, secret }: { readonly file: string; readonly secret: string },
): JsonObject {
  return { ...oidc, client: { ...membersOf(oidc.client), client_secret: secret, client_secret_file: file } }
}

/** Removes `$schema`, which only editors use. */
function withoutSchema(oidc: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(oidc).filter(([name]) => name !== '$schema'))
}

function needIssuer(issuer: unknown): readonly Finding[] {
  const isObject = isJsonObject(issuer)
  if (isObject ? issuer.issuer !== undefined : issuer !== undefined) return []
  const remedy = "Write the issuer's complete https address, exactly as the IdP states it, or choose a preset."
  return [
    { steps: isObject ? ['issuer', 'issuer'] : ['issuer'], reason: 'is missing, but no preset is chosen', remedy },
  ]
}

function checkRights({ groups }: JsonObject): readonly Finding[] {
  if (!isJsonObject(groups) || groups.rights === undefined) return []
  const remedy =
    'Remove it, or implement this function. If this is a configuration of MeshCentral, check it with --meshcentral.'
  return [
    {
      warning: 'no_effect',
      steps: ['groups', 'rights'],
      reason: 'has no effect, unless the server implements `accounts.setRights`',
      remedy,
    },
  ]
}

/** Replaces a `newAccounts` that is not a boolean with false, as MeshCentral does. */
function settleNewAccounts(oidc: JsonObject): { readonly oidc: JsonObject; readonly findings: readonly Finding[] } {
  const { newAccounts } = oidc
  if (newAccounts === undefined || typeof newAccounts === 'boolean') return { oidc, findings: [] }
  return { oidc: { ...oidc, newAccounts: false }, findings: [notBoolean(['newAccounts'])] }
}

/** The warning about a `newAccounts` value that is neither true nor false. */
export function notBoolean(steps: Steps): Finding {
  const reason = 'is neither true nor false, and counts as false'
  return { warning: 'not_boolean', steps, reason, remedy: 'Write true or false, without quotation marks.' }
}
