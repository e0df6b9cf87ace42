import type { ErrorObject } from 'ajv'
import { isJsonObject, type JsonObject } from '../../json/json-object.ts'
import { pointerSteps, quoted } from '../../json/json-path.ts'
import { canonicalName } from '../../json/member-name.ts'
import { nearestName } from '../../json/nearest-name.ts'
import { DEPRECATED_NAMES } from '../../migration/deprecated-keys.ts'
import type { OidcConfig } from '../../oidc-config.ts'
import type { Finding, Steps } from '../../problem.ts'
import { compileSchema } from './compile-schema.ts'
import type { MemberSchema } from './member-schema.ts'
import { ourNameOf } from './other-programs.ts'

export interface SchemaCheck {
  /** Whether an `oidc` object matches the schema and has no unknown members. */
  readonly isOidcConfig: (oidc: JsonObject) => oidc is JsonObject & OidcConfig
  /**
   * Reports all mistakes in names and types. Unknown members of the `oidc` object are warnings, because hosts store
   * settings there. In `groups` they are errors, because a misspelt rule would admit every user. Elsewhere
   * `unknownKeys` decides.
   */
  readonly findings: (oidc: JsonObject, options: UnknownKeys) => readonly Finding[]
}

export interface UnknownKeys {
  readonly unknownKeys: 'error' | 'warn'
  /** Members of the `oidc` object that the host itself reads. */
  readonly hostMembers: readonly string[]
}

/** Compiles a schema of the `oidc` object. */
export function schemaCheck(root: MemberSchema): SchemaCheck {
  const fits = compileSchema(root)
  return {
    isOidcConfig: (oidc): oidc is JsonObject & OidcConfig => fits(oidc),
    findings: (oidc, options) => (fits(oidc) ? [] : (fits.errors ?? []).map((error) => finding(error, options, root))),
  }
}

/** Returns the object without members that the schema does not contain. */
export function withoutUnknown(oidc: JsonObject, schema: MemberSchema): JsonObject {
  const members = new Map(Object.entries(schema.properties ?? {}))
  const entries = Object.entries(oidc).flatMap(([name, value]): [string, unknown][] => {
    const inner = members.get(name)
    if (!inner) return []
    return [[name, inner.properties && isJsonObject(value) ? withoutUnknown(value, inner) : value]]
  })
  return Object.fromEntries(entries)
}

function finding(error: ErrorObject, { unknownKeys, hostMembers }: UnknownKeys, root: MemberSchema): Finding {
  const steps = pointerSteps(error.instancePath)
  const schema = error.parentSchema as MemberSchema
  if (error.keyword === 'additionalProperties') {
    const name = String(error.params.additionalProperty)
    const remedy = advice(name, schema, steps, { root, hostMembers })
    const unknown = { steps: [...steps, name], reason: 'is not a known setting', remedy }
    const isWarning = steps.length === 0 || (unknownKeys === 'warn' && steps[0] !== 'groups')
    return isWarning ? { ...unknown, warning: 'unknown_key' } : unknown
  }
  if (error.keyword === 'required') {
    const name = String(error.params.missingProperty)
    return { steps: [...steps, name], reason: 'is missing', remedy: remedyFor([...steps, name], root) }
  }
  return { steps, reason: reason(error, schema), remedy: remedyFor(steps, root) }
}

interface AdviceContext {
  readonly root: MemberSchema
  readonly hostMembers: readonly string[]
}

function advice(name: string, schema: MemberSchema, steps: Steps, { root, hostMembers }: AdviceContext): string {
  const knownNames = Object.keys(schema.properties ?? {})
  const nearest = nearestName(name, steps.length === 0 ? [...knownNames, ...hostMembers] : knownNames)
  if (nearest !== undefined) return `Did you mean ${quoted(nearest)}?`
  const ourName = ourNameOf(name)
  if (ourName !== undefined)
    return `Write this rule as \`${ourName}\`. The plugin does not apply it under any other name.`
  const [table] = tablesWith(name, root)
  if (table !== undefined) return `It belongs in ${table === '' ? 'the oidc object itself' : quoted(table)}.`
  const nearestDeprecated = steps.length === 0 ? nearestName(name, DEPRECATED_NAMES) : undefined
  if (nearestDeprecated !== undefined) return `Did you mean ${quoted(nearestDeprecated)}?`
  const removal = steps.length === 0 ? 'Remove it, unless the host itself uses it.' : 'Remove it.'
  return `${removal} Known here: ${knownNames.join(', ')}.`
}

/**
 * Returns the paths of all objects in the schema that have a member with this name. The path of the `oidc` object is
 * empty.
 */
function tablesWith(name: string, schema: MemberSchema, path = ''): readonly string[] {
  const members = schema.properties ?? {}
  const matching = canonicalName(name, Object.keys(members)) === undefined ? [] : [path]
  const nested = Object.entries(members).flatMap(([member, inner]) =>
    tablesWith(name, inner, path === '' ? member : `${path}.${member}`),
  )
  return [...matching, ...nested]
}

/** Returns the schema's description of the member at a path. For an item of a list, returns the list's description. */
function remedyFor(steps: Steps, root: MemberSchema): string {
  let schema = root
  for (const step of steps) schema = schema.properties?.[step] ?? schema
  return schema.description
}

function reason(error: ErrorObject, schema: Partial<MemberSchema>): string {
  switch (error.keyword) {
    case 'type':
      return `must be ${[schema.type ?? []].flat().map(inWords).join(' or ')}`
    case 'enum':
      return `must be one of ${alternatives(schema.enum ?? [])}`
    case 'format':
      return 'must be a complete address'
    case 'minLength':
    case 'minItems':
      return 'must not be empty'
    case 'not':
      return 'must be a string or false'
    case 'minimum':
      return 'must not be negative'
    default:
      return 'does not have the right form'
  }
}

/** Joins values for a message, such as `a, b or null`. */
function alternatives(values: readonly (string | null)[]): string {
  const words = values.map(String)
  const last = words.at(-1) ?? ''
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`
}

function inWords(type: string): string {
  return TYPES_IN_WORDS.get(type) ?? type
}

const TYPES_IN_WORDS: ReadonlyMap<string, string> = new Map([
  ['string', 'a string'],
  ['array', 'an array of strings'],
  ['boolean', 'true or false'],
  ['integer', 'a whole number'],
  ['object', 'an object'],
])
