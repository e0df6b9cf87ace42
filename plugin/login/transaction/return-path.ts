import { isSameRoute } from '../../config/domains/same-route.ts'

// It travels in the transaction cookie: ten of those must fit into the 16 KiB of headers that Node accepts.
const LONGEST = 512

/**
 * The local path that a browser may be sent to after its login, in normal form; undefined for anything else: other hosts in every
 * spelling that browsers accept, control characters, and what would not fit into the cookie that carries it.
 *
 * @param value what the request said, `undefined` or an array when it said nothing or too much
 * @param ownRoutes normal paths of the login itself, to which a return would run in a circle or sign the person out again
 */
export function localReturnPath(value: unknown, ownRoutes: ReadonlySet<string>): string | undefined {
  if (typeof value !== 'string' || value.length > LONGEST || !value.startsWith('/')) return undefined
  // Browsers drop tabs and line breaks, and read a backslash as a slash: `/\t/evil.test` is another host to them.
  if (/[\p{Cc}\p{Zs}\p{Zl}\p{Zp}\\]/u.test(value)) return undefined
  const base = 'https://here.invalid'
  if (!URL.canParse(value, base)) return undefined
  const url = new URL(value, base)
  // Dots are resolved by now: `/.//evil.test` has become `//evil.test`.
  if (url.origin !== base || url.pathname.startsWith('//')) return undefined
  if ([...ownRoutes].some((route) => isSameRoute(url.pathname, route))) return undefined
  const path = url.pathname + url.search + url.hash
  return path.length > LONGEST ? undefined : path
}
