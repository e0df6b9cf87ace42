import { jsonPath } from '../json-path.ts'
import type { Problem } from '../problem.ts'
import type { MemberSchema } from '../schema.ts'
import { nearest } from './nearest.ts'

/** The value of a setting that an environment variable sets. */
export interface Override {
  readonly variable: string
  readonly steps: readonly string[]
  readonly value: unknown
}

/**
 * Reads the `SIDECAR_…` variables. A name is `SIDECAR_` and the setting's path in upper snake case; the schema
 * determines the type. Commas separate lists, and null is `null`. An empty variable is not set, because container files
 * write it so.
 *
 * A variable that names no setting, or has a service address as its value, only causes a warning. Orchestrators set
 * such variables for services: for one called sidecar-admin, `SIDECAR_ADMIN_PORT`.
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
    else if (isServiceAddress(text)) warnings.push(serviceVariable(variable, leaf.steps))
    else overrides.push({ variable, steps: leaf.steps, value: typedValue(text, leaf.schema) })
  }
  return { overrides, warnings }
}

const PREFIX = 'SIDECAR_'

function unknownVariable(variable: string, candidates: readonly string[]): Problem {
  const bare = (name: string) => name.slice(PREFIX.length)
  const meant = nearest(bare(variable), candidates.map(bare))
  return {
    path: variable,
    reason: 'is an environment variable that names no setting',
    remedy: meant
      ? `Did you mean ${PREFIX}${meant}?`
      : `It is ignored. Variables that begin with ${PREFIX} are settings, such as ${PREFIX}APRSIS_PASSCODE.`,
  }
}

/**
 * Returns whether the text is a service address as set by Docker links or Kubernetes, such as `tcp://10.0.0.1:8080`. No
 * setting has such a value.
 */
function isServiceAddress(text: string): boolean {
  return /^(tcp|udp|sctp):\/\//.test(text)
}

function serviceVariable(variable: string, steps: readonly string[]): Problem {
  return {
    path: variable,
    reason: 'is the address of a service, set by an orchestrator, and not a setting',
    remedy: `It is ignored. To set ${jsonPath(steps)}, use the configuration file, or rename the orchestrator's service.`,
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
 * Converts `text` to the type of its setting. If it fits no type, it remains text, so that the schema reports the
 * mistake.
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
