import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import { jsonPath } from '../json/json-path.ts'
import { canonicalName, spellingsOf } from '../json/member-name.ts'
import type { Finding, Steps } from '../problem.ts'
import { oidcSchema } from '../rules/schema/schema.ts'

/** Old key of the `oidc` object to its new place in it. */
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
/** Every name that the `oidc` object may hold. The current ones come first: `LogoutUrl` means `logouturl`. */
export const OIDC_NAMES: readonly string[] = [...Object.keys(oidcSchema([]).properties ?? {}), ...DEPRECATED_NAMES]

export interface Moves {
  /** The object without deprecated keys. Letter case and order of everything else are kept. */
  readonly oidc: JsonObject
  /** A warning for each deprecated key, whether it was used or not. */
  readonly warnings: readonly Finding[]
  /** Where a moved value stands in the file: its new place, as a path, to the old one. */
  readonly origins: ReadonlyMap<string, Steps>
}

/**
 * Moves deprecated keys, in any letter case, to their new places; a value that is there already wins. What cannot be
 * moved stays: a key in two spellings, or one whose new place is inside something that is not an object.
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
    let outweighed = false

    if (!target) {
      entries[from] = [container, member === undefined ? value : { [member]: value }]
      origins.set(jsonPath(place), [old])
    } else if (member === undefined) {
      outweighed = true
      entries.splice(from, 1)
    } else {
      const members = typeof target[1] === 'string' && container === 'issuer' ? { issuer: target[1] } : target[1]
      if (isJsonObject(members)) {
        outweighed = spellingsOf(members, member).length > 0
        if (!outweighed) {
          entries[to] = [target[0], { ...members, [member]: value }]
          origins.set(jsonPath(place), [old])
          if (members !== target[1]) origins.set('issuer.issuer', ['issuer'])
        }
        entries.splice(from, 1)
      }
    }
    warnings.push(warning([old], jsonPath(place), outweighed))
  }
  const moved = Object.fromEntries(entries)
  const settled = settleSync(moved)
  if (settled !== moved) warnings.push(warning(['groups', 'sync', 'enabled'], 'groups.sync', false))
  return { oidc: settled, warnings, origins }
}

/** `groups.sync.enabled` becomes `groups.sync` itself; beside a filter, `"enabled": true` says nothing. */
function settleSync(oidc: JsonObject): JsonObject {
  return inside(oidc, 'groups', (groups) =>
    isJsonObject(groups)
      ? inside(groups, 'sync', (sync) => {
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

/** The object with one member, in any letter case, changed; the object itself when nothing changed. */
function inside(object: JsonObject, name: string, change: (value: unknown) => unknown): JsonObject {
  const [written, ...more] = spellingsOf(object, name)
  if (written === undefined || more.length > 0) return object
  const changed = change(object[written])
  return changed === object[written] ? object : { ...object, [written]: changed }
}

function warning(at: Steps, newPlace: string, outweighed: boolean): Finding {
  return outweighed
    ? {
        warning: 'deprecated_key',
        at,
        reason: `is deprecated and ignored beside ${newPlace}`,
        remedy: `Remove it: the value of ${newPlace} is used.`,
      }
    : { warning: 'deprecated_key', at, reason: 'is deprecated', remedy: `Move it to ${newPlace}.` }
}
