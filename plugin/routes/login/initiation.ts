import type { Request } from 'express'
import { isSameRoute } from '../../config/domains/route-names.ts'
import { membersOf } from '../../config/json/json-object.ts'
import type { DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import type { RoutePaths, WorkingStrategy } from '../strategy.ts'

/**
 * Names and addresses of people are shorter. In an address each letter beyond ASCII takes 6 characters or more: twice
 * that then.
 */
const LONGEST_HINT = 255

/** What the request that begins a login says of it. */
export interface Initiation {
  /** Null: where every login leads. */
  readonly returnPath: string | null
  /** Parameters for the IdP. */
  readonly hints: Readonly<Record<string, string>>
}

/**
 * Reads the request that begins a login, which may come from elsewhere.
 * Source: OpenID Connect Core 1.0, section 4, Initiating Login from a Third Party.
 *
 * @throws LoginError `initiation_refused` where it is for another IdP, and what keeps that from being known
 */
export async function readInitiation(
  req: Request,
  { settings, client }: WorkingStrategy,
  paths: RoutePaths,
): Promise<Initiation> {
  const fields = membersOf(req.method === 'POST' ? req.body : undefined)
  const query = membersOf(req.query)
  const given = (name: string): unknown => fields[name] ?? query[name]
  const issuer = given('iss')
  if (issuer !== undefined && issuer !== settings.issuer.issuer && issuer !== (await client.issuerName())) {
    // Parsers of hosts make objects of `iss[toString]=x`.
    const iss = typeof issuer === 'string' ? issuer : 'not one text'
    throw new LoginError('initiation_refused', { details: { iss } })
  }
  const hint = readHint(given('login_hint'))
  return {
    returnPath:
      localReturnPath(given('return'), paths.own) ??
      localReturnPath(linkedPath(given('target_link_uri'), settings, paths.base), paths.own) ??
      null,
    hints: hint === undefined ? {} : { login_hint: hint },
  }
}

function readHint(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const hint = value.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, '').trim()
  const isLong = hint.length > LONGEST_HINT || encodeURIComponent(hint).length > 2 * LONGEST_HINT
  return hint === '' || isLong ? undefined : hint
}

/** The path of an address in this domain on this server. */
function linkedPath(value: unknown, { origin, client }: DomainSettings, base: string): string | undefined {
  if (typeof value !== 'string' || !URL.canParse(value)) return undefined
  const url = new URL(value)
  // The one that browsers come back to after a login is this server too.
  const isHere = url.origin === new URL(origin).origin || url.origin === new URL(client.redirect_uri).origin
  return isHere && url.pathname.startsWith(base) ? url.pathname + url.search + url.hash : undefined
}

// It travels in the transaction cookie.
const LONGEST = 512

/**
 * The local path that a browser may be sent to after its login, in normal form; undefined for anything else: other
 * hosts in every spelling that browsers accept, control characters, and what would not fit into the cookie that carries
 * it.
 *
 * @param value what the request said, `undefined` or an array when it said nothing or too much
 * @param ownRoutes normal paths of the login itself, to which a return would run in a circle or sign the person out
 *   again
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
