import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import { quoted } from '../json/json-path.ts'
import { canonicalName } from '../json/member-name.ts'
import { isComment } from '../meshcentral/host-members.ts'
import type { Finding, Steps } from '../problem.ts'
import type { MemberSchema } from '../rules/schema/member-schema.ts'
import { OIDC_NAMES } from './deprecated-keys.ts'
import { settleRightNames } from './right-names.ts'

/**
 * The `oidc` object with every name that is known there, deprecated ones included, in its canonical letter case.
 * Some hosts lower-case their configuration, and a name that is written in two ways would then mean either.
 * Members that are undefined, which code writes for "not given", are left out.
 *
 * @param hasComments whether members whose names begin with `_` are comments, and left out too
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

function settle(object: JsonObject, schema: MemberSchema, at: Steps, settling: Settling): JsonObject {
  const members = schema.properties ?? {}
  const known = [...Object.keys(members), ...oldNames(at)]
  const settled = new Map<string, { written: string; value: unknown }>()
  for (const [written, value] of Object.entries(object)) {
    if (value === undefined) continue
    // Where names are data, as those of groups are, one may begin so.
    if (settling.hasComments && schema.properties && isComment(written)) continue
    const name = canonicalName(written, known) ?? written
    const first = settled.get(name)
    if (first) {
      settling.problems.push({
        at: [...at, name],
        reason: `is there twice, as ${quoted(first.written)} and ${quoted(written)}`,
        remedy: 'Keep one of them: letter case makes no difference.',
      })
      continue
    }
    const inner = Object.hasOwn(members, name) ? members[name] : undefined
    const deeper = inner && (inner.properties ?? inner.additionalProperties) && isJsonObject(value)
    settled.set(name, { written, value: deeper ? settle(value, inner, [...at, name], settling) : value })
  }
  return Object.fromEntries([...settled].map(([name, { value }]) => [name, value]))
}

function oldNames(at: Steps): readonly string[] {
  if (at.length === 0) return OIDC_NAMES
  return at.join('.') === 'groups.sync' ? ['enabled'] : []
}
