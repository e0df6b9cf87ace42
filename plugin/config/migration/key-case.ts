import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import { quoted } from '../json/json-path.ts'
import { canonicalName } from '../json/member-name.ts'
import { isComment } from '../meshcentral/host-members.ts'
import type { Finding, Steps } from '../problem.ts'
import type { MemberSchema } from '../rules/schema/member-schema.ts'
import { OIDC_NAMES } from './deprecated-keys.ts'
import { settleRightNames } from './right-names.ts'

/**
 * Converts every known name of the `oidc` object, even deprecated ones, to its canonical letter case. Reports names in
 * two spellings, because some hosts lower-case all names. Omits undefined members.
 *
 * @param hasComments whether to omit names that begin with `_`
 */
export function settleLetterCase(
  oidc: JsonObject,
  schema: MemberSchema,
  hasComments = false,
): {
  readonly oidc: JsonObject
  readonly problems: readonly Finding[]
} {
  const problems: Finding[] = []
  return { oidc: settleRightNames(settle(oidc, schema, [], { problems, hasComments })), problems }
}

interface Settling {
  readonly problems: Finding[]
  readonly hasComments: boolean
}

function settle(object: JsonObject, schema: MemberSchema, steps: Steps, settling: Settling): JsonObject {
  const members = schema.properties ?? {}
  const knownNames = [...Object.keys(members), ...oldNames(steps)]
  const settled = new Map<string, { written: string; value: unknown }>()
  for (const [written, value] of Object.entries(object)) {
    if (value === undefined) continue
    // Only objects with fixed members have comments. In `groups.rights`, for example, a group name may begin with `_`.
    if (settling.hasComments && schema.properties && isComment(written)) continue
    const name = canonicalName(written, knownNames) ?? written
    const first = settled.get(name)
    if (first) {
      settling.problems.push({
        steps: [...steps, name],
        reason: `occurs twice, as ${quoted(first.written)} and ${quoted(written)}`,
        remedy: 'Keep one of them. Letter case makes no difference.',
      })
      continue
    }
    const inner = Object.hasOwn(members, name) ? members[name] : undefined
    const isNested = inner && (inner.properties ?? inner.additionalProperties) && isJsonObject(value)
    settled.set(name, { written, value: isNested ? settle(value, inner, [...steps, name], settling) : value })
  }
  return Object.fromEntries([...settled].map(([name, { value }]) => [name, value]))
}

function oldNames(steps: Steps): readonly string[] {
  if (steps.length === 0) return OIDC_NAMES
  return steps.join('.') === 'groups.sync' ? ['enabled'] : []
}
