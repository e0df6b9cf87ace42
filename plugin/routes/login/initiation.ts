import type { Request } from 'express'
import { isSameRoute } from '../../config/domains/route-names.ts'
import { membersOf } from '../../config/json/json-object.ts'
import type { DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import type { RoutePaths, WorkingStrategy } from '../strategy.ts'

/** Limit of characters in a login hint, such as an e-mail address. With percent-encoding, twice as many are allowed. */
const MOST_HINT_CHARACTERS = 255

/** The parameters of a request that begins a login. */
export interface Initiation {
  /** The path to return to after the login. Null for the default page. */
  readonly returnPath: string | null
  /** Parameters to add to the authorization request, such as `login_hint`. */
  readonly hints: Readonly<Record<string, string>>
}

/**
 * Reads a request to begin a login, perhaps from another site (OpenID Connect Core 1.0, section 4).
 *
 * @throws LoginError `initiation_refused` for another IdP, and errors of discovery
 */
export async function readInitiation(
  req: Request,
  { settings, client }: WorkingStrategy,
  paths: RoutePaths,
): Promise<Initiation> {
  const fields = membersOf(req.method === 'POST' ? req.body : undefined)
  const query = membersOf(req.query)
  const parameter = (name: string): unknown => fields[name] ?? query[name]
  const issuer = parameter('iss')
  if (issuer !== undefined && issuer !== settings.issuer.issuer && issuer !== (await client.issuerName())) {
    // The host's query parser may turn `iss[toString]=x` into an object, which must not be logged as text.
    const iss = typeof issuer === 'string' ? issuer : 'not one string'
    throw new LoginError('initiation_refused', { details: { iss } })
  }
  const hint = readHint(parameter('login_hint'))
  return {
    returnPath:
      localReturnPath(parameter('return'), paths.all) ??
      localReturnPath(pathInDomain(parameter('target_link_uri'), settings, paths.base), paths.all) ??
      null,
    hints: hint === undefined ? {} : { login_hint: hint },
  }
}

function readHint(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const hint = value.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, '').trim()
  const isTooLong = hint.length > MOST_HINT_CHARACTERS || encodeURIComponent(hint).length > 2 * MOST_HINT_CHARACTERS
  return hint === '' || isTooLong ? undefined : hint
}

/** Returns the path of an address if it is in this domain on this server. Otherwise returns undefined. */
function pathInDomain(value: unknown, { origin, client }: DomainSettings, base: string): string | undefined {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined
  const url = new URL(value)
  // Accept the origin of the redirect address too, because browsers may reach this server there.
  const isHere = url.origin === new URL(origin).origin || url.origin === new URL(client.redirect_uri).origin
  return isHere && url.pathname.startsWith(base) ? url.pathname + url.search + url.hash : undefined
}

/** Limit of characters in a return path, which is stored in the transaction cookie. */
const MOST_PATH_CHARACTERS = 512

/**
 * Returns the normalized local path to which a browser may return after its login. Undefined for other hosts in any
 * spelling, control characters, and long paths.
 *
 * @param value the parameter; an array if it is repeated
 * @param excludedRoutes the plugin's own paths. Returning there would loop, or sign the user out
 */
export function localReturnPath(value: unknown, excludedRoutes: ReadonlySet<string>): string | undefined {
  if (typeof value !== 'string' || value.length > MOST_PATH_CHARACTERS || !value.startsWith('/')) return undefined
  // Browsers drop tabs and line breaks, and read a backslash as a slash. So they read `/\t/evil.test` as another host.
  if (/[\p{Cc}\p{Zs}\p{Zl}\p{Zp}\\]/u.test(value)) return undefined
  const base = 'https://here.invalid'
  if (!URL.canParse(value, base)) return undefined
  const url = new URL(value, base)
  // The URL parser removes `/.`: `/.//evil.test` becomes `//evil.test`, which is another host.
  if (url.origin !== base || url.pathname.startsWith('//')) return undefined
  if ([...excludedRoutes].some((route) => isSameRoute(url.pathname, route))) return undefined
  const path = url.pathname + url.search + url.hash
  return path.length > MOST_PATH_CHARACTERS ? undefined : path
}
