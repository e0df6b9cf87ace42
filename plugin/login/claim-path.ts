/**
 * Returns the claim of this name, or else at this dotted path, such as `realm_access.roles` or `emails.0`. Each step
 * tries the longest member name first, because client ids contain dots (`resource_access.mesh.example.roles`).
 * Inherited members are never read.
 */
export function claimAt(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  const parts = path.split('.')
  if (parts.length <= MOST_PARTS) return valueAt(claims, parts)
  return Object.hasOwn(claims, path) ? claims[path] : undefined
}

/** Limit of parts in a dotted claim path. Each additional part doubles the number of ways to split the path. */
const MOST_PARTS = 8

function valueAt(value: unknown, parts: readonly string[]): unknown {
  if (parts.length === 0) return value
  if (Array.isArray(value)) return itemAt(value, parts)
  if (typeof value !== 'object' || value === null) return undefined
  for (let length = parts.length; length > 0; length -= 1) {
    const name = parts.slice(0, length).join('.')
    if (!Object.hasOwn(value, name)) continue
    const claim = valueAt(Reflect.get(value, name), parts.slice(length))
    if (claim !== undefined) return claim
  }
  return undefined
}

/**
 * Matches an array index in the notation of JSON Pointer (RFC 6901, section 4). So each item has exactly one name, and
 * `length` is not an index.
 */
const INDEX = /^(?:0|[1-9]\d{0,8})$/

function itemAt(items: readonly unknown[], [index = '', ...rest]: readonly string[]): unknown {
  return INDEX.test(index) ? valueAt(items[Number(index)], rest) : undefined
}
