import type { Problem } from '../problem.ts'
import type { MemberSchema } from '../schema.ts'
import { nearest } from './nearest.ts'

/** What the environment says of one member. */
export interface Override {
  readonly variable: string
  readonly steps: readonly string[]
  readonly value: unknown
}

/**
 * Reads the `SIDECAR_…` variables: `SIDECAR_` and a member's path in upper snake case, typed as the schema says. A
 * variable that is set but empty counts as not set, since that is how container files leave one out; `null` is written
 * out. Lists are separated by commas. A `SIDECAR_…` variable that names no member is a warning: a misspelt one would
 * otherwise be ignored in silence, and orchestrators make some for a service that is called sidecar. So they do with
 * `SIDECAR_ADMIN_PORT`, for one that is called sidecar-admin: an address in the place of a port is theirs too.
 */
export function readEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  schema: MemberSchema,
): { readonly overrides: readonly Override[]; readonly warnings: readonly Problem[] } {
  const members = new Map(leaves(schema, []).map((leaf) => [variableName(leaf.steps), leaf]))
  const overrides: Override[] = []
  const warnings: Problem[] = []
  for (const [variable, text] of Object.entries(env)) {
    if (!variable.startsWith(PREFIX) || text === undefined || text === '') continue
    const leaf = members.get(variable)
    if (!leaf) warnings.push(unknownVariable(variable, [...members.keys()]))
    else if (isServiceAddress(text)) warnings.push(serviceVariable(variable))
    else overrides.push({ variable, steps: leaf.steps, value: typedValue(text, leaf.schema) })
  }
  return { overrides, warnings }
}

const PREFIX = 'SIDECAR_'

function unknownVariable(variable: string, known: readonly string[]): Problem {
  const bare = (name: string) => name.slice(PREFIX.length)
  const meant = nearest(bare(variable), known.map(bare))
  return {
    path: variable,
    reason: 'is an environment variable that names no setting',
    remedy: meant
      ? `Did you mean ${PREFIX}${meant}?`
      : `It changes nothing. Variables that begin with ${PREFIX} are settings, such as ${PREFIX}APRSIS_PASSCODE.`,
  }
}

/**
 * As Docker's links and Kubernetes give the address of a service: `tcp://10.0.0.1:8080`. No setting looks like that.
 */
function isServiceAddress(text: string): boolean {
  return /^(tcp|udp|sctp):\/\//.test(text)
}

function serviceVariable(variable: string): Problem {
  return {
    path: variable,
    reason: "is an orchestrator's address of a service, and no setting",
    remedy: 'It changes nothing. To set this member, use the file, or give the service another name.',
  }
}

function variableName(steps: readonly string[]): string {
  return PREFIX + steps.map((step) => step.replace(/[A-Z]/g, '_$&').toUpperCase()).join('_')
}

interface Leaf {
  readonly steps: readonly string[]
  readonly schema: MemberSchema
}

function leaves(schema: MemberSchema, steps: readonly string[]): readonly Leaf[] {
  if (!schema.properties) return [{ steps, schema }]
  return Object.entries(schema.properties).flatMap(([name, member]) => leaves(member, [...steps, name]))
}

/**
 * The value that `text` stands for; text that fits none of the types stays text, so that the schema says what is wrong.
 */
function typedValue(text: string, schema: MemberSchema): unknown {
  const types = new Set([schema.type].flat())
  const trimmed = text.trim()
  if (types.has('null') && trimmed === 'null') return null
  if (types.has('boolean') && (trimmed === 'true' || trimmed === 'false')) return trimmed === 'true'
  if (types.has('array')) return trimmed.split(',').map((item) => item.trim())
  if ((types.has('integer') || types.has('number')) && /^[+-]?\d+(\.\d+)?$/.test(trimmed)) return Number(trimmed)
  return types.has('string') ? text : trimmed
}
