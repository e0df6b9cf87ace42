/**
 * The claim of exactly that name, else what a path with dots leads to: `realm_access.roles` is `roles` in the object `realm_access`. On
 * the way, longer names come first, since client ids have dots too (`resource_access.mesh.example.roles`). Own members only: no path
 * leads to what every object has.
 */
export function claimAt(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  const parts = path.split('.')
  if (parts.length <= MOST_PARTS) return valueAt(claims, parts)
  return Object.hasOwn(claims, path) ? claims[path] : undefined
}

/** Every further part doubles the ways that there are. */
const MOST_PARTS = 8

function valueAt(value: unknown, parts: readonly string[]): unknown {
  if (parts.length === 0) return value
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  for (let length = parts.length; length > 0; length -= 1) {
    const name = parts.slice(0, length).join('.')
    if (!Object.hasOwn(value, name)) continue
    const found = valueAt(Reflect.get(value, name), parts.slice(length))
    if (found !== undefined) return found
  }
  return undefined
}
