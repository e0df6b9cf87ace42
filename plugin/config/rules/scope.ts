import { isJsonObject, type JsonObject } from '../json/json-object.ts'
import type { Finding } from '../problem.ts'

/**
 * Reads scopes from a string or an array of strings, separated by spaces. Removes duplicates, and puts `openid` first.
 */
export function scopes(value: string | readonly string[], additional: readonly string[] = []): readonly string[] {
  return [...new Set(['openid', ...[value, ...additional].flat().flatMap(words)])]
}

/** Reports scopes with characters that a request cannot contain. Source: RFC 6749, section 3.3. */
export function checkScopes(oidc: JsonObject): readonly Finding[] {
  return (['custom', 'groups'] as const).flatMap((table): Finding[] => {
    const members = oidc[table]
    const value: unknown = isJsonObject(members) ? members.scope : undefined
    const entries = [value].flat().filter((entry) => typeof entry === 'string')
    if (entries.flatMap(words).every((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope))) return []
    const remedy = 'Separate scopes by spaces, and use no quotation marks, backslashes or letters beyond ASCII.'
    return [{ steps: [table, 'scope'], reason: 'contains characters that no scope can have', remedy }]
  })
}

function words(text: string): readonly string[] {
  return text.split(/\s/).filter((word) => word !== '')
}
