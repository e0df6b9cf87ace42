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
  /** Whether an `oidc` object fits the schema, unknown members included. */
  readonly isOidcConfig: (oidc: JsonObject) => oidc is JsonObject & OidcConfig
  /**
   * Everything that is wrong with the names and types in an `oidc` object. Unknown members of the `oidc` object itself
   * are warnings, since hosts keep settings of their own there. Those of `groups` are errors on every host: a misspelt
   * rule would admit every user. All others are what `unknownKeys` says.
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

/** The object without the members that the schema does not know. */
export function withoutUnknown(oidc: JsonObject, schema: MemberSchema): JsonObject {
  const members = new Map(Object.entries(schema.properties ?? {}))
  const kept = Object.entries(oidc).flatMap(([name, value]): [string, unknown][] => {
    const inner = members.get(name)
    if (!inner) return []
    return [[name, inner.properties && isJsonObject(value) ? withoutUnknown(value, inner) : value]]
  })
  return Object.fromEntries(kept)
}

function finding(error: ErrorObject, { unknownKeys, hostMembers }: UnknownKeys, root: MemberSchema): Finding {
  const at = pointerSteps(error.instancePath)
  const schema = error.parentSchema as MemberSchema
  if (error.keyword === 'additionalProperties') {
    const name = String(error.params.additionalProperty)
    const remedy = advice(name, schema, at, { root, hostMembers })
    const unknown = { at: [...at, name], reason: 'is not a known setting', remedy }
    const isWarning = at.length === 0 || (unknownKeys === 'warn' && at[0] !== 'groups')
    return isWarning ? { ...unknown, warning: 'unknown_key' } : unknown
  }
  if (error.keyword === 'required') {
    const name = String(error.params.missingProperty)
    return { at: [...at, name], reason: 'is missing', remedy: remedyFor([...at, name], root) }
  }
  return { at, reason: reason(error, schema), remedy: remedyFor(at, root) }
}

interface Elsewhere {
  readonly root: MemberSchema
  readonly hostMembers: readonly string[]
}

function advice(name: string, schema: MemberSchema, at: Steps, { root, hostMembers }: Elsewhere): string {
  const known = Object.keys(schema.properties ?? {})
  const near = nearestName(name, at.length === 0 ? [...known, ...hostMembers] : known)
  if (near !== undefined) return `Did you mean ${quoted(near)}?`
  const ours = ourNameOf(name)
  if (ours !== undefined) return `Here this rule is called \`${ours}\`: write it so. As it stands it is not applied.`
  const [home] = tablesWith(name, root)
  if (home !== undefined) return `It belongs in ${home === '' ? 'the oidc object itself' : quoted(home)}.`
  const nearOld = at.length === 0 ? nearestName(name, DEPRECATED_NAMES) : undefined
  if (nearOld !== undefined) return `Did you mean ${quoted(nearOld)}?`
  const removal = at.length === 0 ? 'Remove it, unless the host itself uses it.' : 'Remove it.'
  return `${removal} Known here: ${known.join(', ')}.`
}

/** Paths of the tables that have a member of that name; the `oidc` object's own is empty. */
function tablesWith(name: string, schema: MemberSchema, path = ''): readonly string[] {
  const members = schema.properties ?? {}
  const here = canonicalName(name, Object.keys(members)) === undefined ? [] : [path]
  const further = Object.entries(members).flatMap(([member, inner]) =>
    tablesWith(name, inner, path === '' ? member : `${path}.${member}`),
  )
  return [...here, ...further]
}

/** What the schema says to write at a place; an item of a list has the list's words. */
function remedyFor(at: Steps, root: MemberSchema): string {
  let schema = root
  for (const step of at) schema = schema.properties?.[step] ?? schema
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
      return 'must be a text or false'
    case 'minimum':
      return 'must not be negative'
    default:
      return 'does not have the right form'
  }
}

/** `a, b or null`. */
function alternatives(values: readonly (string | null)[]): string {
  const words = values.map(String)
  const last = words.at(-1) ?? ''
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} or ${last}`
}

function inWords(type: string): string {
  return TYPES_IN_WORDS.get(type) ?? type
}

const TYPES_IN_WORDS: ReadonlyMap<string, string> = new Map([
  ['string', 'a text'],
  ['array', 'an array of texts'],
  ['boolean', 'true or false'],
  ['integer', 'a whole number'],
  ['object', 'an object'],
])
