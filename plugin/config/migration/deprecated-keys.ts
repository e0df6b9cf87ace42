import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import { jsonPath } from '../json/json-path.ts'
import { canonicalName, spellingsOf } from '../json/member-name.ts'
import type { Finding, Steps } from '../problem.ts'
import { oidcSchema } from '../rules/schema/schema.ts'

/** Maps each deprecated key of the `oidc` object to its new place. */
const NEW_PLACES: Readonly<Record<string, readonly [string] | readonly [string, string]>> = {
  clientid: ['client', 'client_id'],
  clientsecret: ['client', 'client_secret'],
  callbackURL: ['client', 'redirect_uri'],
  authorizationURL: ['issuer', 'authorization_endpoint'],
  tokenURL: ['issuer', 'token_endpoint'],
  userInfoURL: ['issuer', 'userinfo_endpoint'],
  logoutURL: ['logouturl'],
  scope: ['custom', 'scope'],
  tenantid: ['custom', 'tenant_id'],
  customerid: ['custom', 'customer_id'],
}

export const DEPRECATED_NAMES: readonly string[] = Object.keys(NEW_PLACES)
/**
 * All names that the `oidc` object may contain. Current names come first, so that `LogoutUrl` matches `logouturl` and
 * not the deprecated `logoutURL`.
 */
export const OIDC_NAMES: readonly string[] = [...Object.keys(oidcSchema([]).properties ?? {}), ...DEPRECATED_NAMES]

export interface Moves {
  /** The `oidc` object without deprecated keys. The letter case and order of all other keys are unchanged. */
  readonly oidc: JsonObject
  /** One warning for each deprecated key, even if its value is not used. */
  readonly warnings: readonly Finding[]
  /** Maps the new path of each moved value to its old place in the file. */
  readonly origins: ReadonlyMap<string, Steps>
}

/**
 * Moves deprecated keys, in any letter case, to their new places. A value that is already there is kept. A key stays if
 * it has two spellings, or if its new place is inside a value that is not an object.
 */
export function moveDeprecatedKeys(oidc: JsonObject): Moves {
  const entries = Object.entries(oidc)
  const warnings: Finding[] = []
  const origins = new Map<string, Steps>()
  const find = (name: string) => entries.findIndex(([written]) => canonicalName(written, OIDC_NAMES) === name)

  for (const [old, place] of Object.entries(NEW_PLACES)) {
    if (spellingsOf(oidc, old, OIDC_NAMES).length !== 1) continue
    const from = find(old)
    const value = entries[from]?.[1]
    const [container, member] = place
    const to = find(container)
    const target = entries[to]
    let isIgnored = false

    if (!target) {
      entries[from] = [container, member === undefined ? value : { [member]: value }]
      origins.set(jsonPath(place), [old])
    } else if (member === undefined) {
      isIgnored = true
      entries.splice(from, 1)
    } else {
      const members = typeof target[1] === 'string' && container === 'issuer' ? { issuer: target[1] } : target[1]
      if (isJsonObject(members)) {
        isIgnored = spellingsOf(members, member).length > 0
        if (!isIgnored) {
          entries[to] = [target[0], { ...members, [member]: value }]
          origins.set(jsonPath(place), [old])
          if (members !== target[1]) origins.set('issuer.issuer', ['issuer'])
        }
        entries.splice(from, 1)
      }
    }
    warnings.push(warning([old], jsonPath(place), isIgnored))
  }
  const moved = Object.fromEntries(entries)
  const settled = moveSyncEnabled(moved)
  if (settled !== moved) warnings.push(warning(['groups', 'sync', 'enabled'], 'groups.sync', false))
  return { oidc: settled, warnings, origins }
}

/**
 * Removes the deprecated `groups.sync.enabled`. If it was false, `sync` becomes false. If true, `sync` keeps its other
 * members, or becomes true.
 */
function moveSyncEnabled(oidc: JsonObject): JsonObject {
  return changeMember(oidc, 'groups', (groups) =>
    isJsonObject(groups)
      ? changeMember(groups, 'sync', (sync) => {
          const [name, ...more] = isJsonObject(sync) ? spellingsOf(sync, 'enabled') : []
          if (!isJsonObject(sync) || name === undefined || more.length > 0) return sync
          const { [name]: enabled, ...rest } = sync
          if (enabled === false) return false
          if (enabled !== true) return sync
          return Object.keys(rest).length === 0 ? true : rest
        })
      : groups,
  )
}

/** Changes one member of an object; its name matches in any letter case. Returns the same object if nothing changes. */
function changeMember(object: JsonObject, name: string, change: (value: unknown) => unknown): JsonObject {
  const [written, ...more] = spellingsOf(object, name)
  if (written === undefined || more.length > 0) return object
  const changed = change(object[written])
  return changed === object[written] ? object : { ...object, [written]: changed }
}

function warning(steps: Steps, newPlace: string, isIgnored: boolean): Finding {
  return isIgnored
    ? {
        warning: 'deprecated_key',
        steps,
        reason: `is deprecated, and is ignored because ${newPlace} is there`,
        remedy: `Remove it. The value of ${newPlace} is used.`,
      }
    : { warning: 'deprecated_key', steps, reason: 'is deprecated', remedy: `Move it to ${newPlace}.` }
}
