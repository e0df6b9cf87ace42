import { asciiLowerCase } from '../json/ascii-case.ts'
import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import { SERVER_RIGHTS } from '../settings.ts'

const KNOWN: ReadonlySet<unknown> = new Set(SERVER_RIGHTS)

/**
 * Converts the names of rights in `groups.rights` to lower case, because MeshCentral accepts them in any letter case.
 */
export function settleRightNames(oidc: JsonObject): JsonObject {
  const { groups } = oidc
  if (!isJsonObject(groups) || !isJsonObject(groups.rights)) return oidc
  const rights = Object.entries(groups.rights).map(([group, names]) => [
    group,
    Array.isArray(names) ? names.map(settleName) : names,
  ])
  return { ...oidc, groups: { ...groups, rights: Object.fromEntries(rights) } }
}

/**
 * Converts the name of a known right to lower case. Keeps an unknown name, so that the message about it quotes what was
 * written.
 */
function settleName(name: unknown): unknown {
  const lowered = typeof name === 'string' ? asciiLowerCase(name) : name
  return KNOWN.has(lowered) ? lowered : name
}
