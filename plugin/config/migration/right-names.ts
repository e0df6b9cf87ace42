import { asciiLowerCase } from '../json/ascii-case.ts'
import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import { SERVER_RIGHTS } from '../settings.ts'

const KNOWN: ReadonlySet<string> = new Set(SERVER_RIGHTS)

/** Writes the names of rights in `groups.rights` in lower case, because MeshCentral accepts them in any letter case. */
export function settleRightNames(oidc: JsonObject): JsonObject {
  const { groups } = oidc
  if (!isJsonObject(groups) || !isJsonObject(groups.rights)) return oidc
  const rights = Object.entries(groups.rights).map(([group, names]) => [
    group,
    Array.isArray(names) ? names.map(settleName) : names,
  ])
  return { ...oidc, groups: { ...groups, rights: Object.fromEntries(rights) } }
}

/** An unknown name stays as it is written, for the message about it. */
function settleName(name: unknown): unknown {
  const lowered = typeof name === 'string' ? asciiLowerCase(name) : name
  return typeof lowered === 'string' && KNOWN.has(lowered) ? lowered : name
}
