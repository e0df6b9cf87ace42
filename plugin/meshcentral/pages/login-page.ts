import { parseCookie, stringifySetCookie } from 'cookie'
import type { RequestHandler, Response } from 'express'
import { type LoginErrorCode, MESSAGES, type MessageCode } from '../../errors.ts'
import type { LoginFailure } from '../../host/port.ts'
import { escapeMarkup, smallPage } from '../../routes/markup.ts'
import { type MeshDomain, type MeshRequest, meshRequest } from '../server.ts'
import { loginKeyOf } from './gate.ts'

/** Numbers of MeshCentral's own messages. Its login page accepts no other text. */
export const MESSAGE = {
  cannotCreate: 100,
  accountLimit: 101,
  invalidToken: 108,
  locked: 110,
  denied: 111,
  failed: 112,
  maintenance: 115,
  securityCheck: 117,
} as const

/** A message of the plugin's own. */
export const SIGNED_OUT_HERE = 'signed_out_here' satisfies MessageCode
/** The browser sent a session that ended. */
const SESSION_ENDED = 'session_over'
/** The login page also accepts free text, as markup in a string of its script. Never pass it any other text. */
const SESSION_ENDED_TEXT =
  'You were signed out by the sign-in service, or your session has expired. Please sign in again.'

/** Messages by the precise code of a refusal. */
const MESSAGE_OF: Partial<Record<LoginErrorCode, number>> = {
  account_unknown: MESSAGE.cannotCreate,
  account_limit: MESSAGE.accountLimit,
  account_locked: MESSAGE.locked,
  maintenance: MESSAGE.maintenance,
  acr_missing: MESSAGE.denied,
  not_in_required_group: MESSAGE.denied,
  memberships_unknown: MESSAGE.denied,
  provider_error: MESSAGE.denied,
  scope_refused: MESSAGE.denied,
  not_configured: MESSAGE.denied,
  session_ended: MESSAGE.denied,
  transaction_missing: MESSAGE.securityCheck,
  transaction_foreign: MESSAGE.securityCheck,
  id_token_invalid: MESSAGE.invalidToken,
  answer_invalid: MESSAGE.invalidToken,
  access_token_invalid: MESSAGE.invalidToken,
  subject_unusable: MESSAGE.invalidToken,
}

/** For all other codes: the message of MeshCentral that is nearest to the text that users of other hosts read. */
const MESSAGE_FOR: Record<MessageCode, number> = {
  login_failed: MESSAGE.failed,
  login_expired: MESSAGE.securityCheck,
  provider_unreachable: MESSAGE.failed,
  provider_refused: MESSAGE.failed,
  // MeshCentral has no message for a user who cancelled. "Login failed" would go on about user names and passwords.
  sign_in_cancelled: MESSAGE.denied,
  sign_in_incomplete: MESSAGE.denied,
  access_denied: MESSAGE.denied,
  maintenance: MESSAGE.maintenance,
  not_configured: MESSAGE.denied,
  signed_out_here: MESSAGE.failed,
}

/** Returns the number of MeshCentral's message for a failed login. */
export function messageOf({ reason, code }: Pick<LoginFailure, 'reason' | 'code'>): number {
  return ownNumber(MESSAGE_OF, reason) ?? ownNumber(MESSAGE_FOR, code) ?? MESSAGE.failed
}

function ownNumber(numbers: Readonly<Record<string, number>>, name: string): number | undefined {
  return Object.hasOwn(numbers, name) ? numbers[name] : undefined
}

/**
 * Values that a browser carries through a login, each in a cookie of its own. These cookies come back from the IdP even
 * if the session's cookie does not, with `sessionSameSite` strict. They also leave the session of a signed-in user
 * alone.
 */
const COOKIES = { failure: '__Host-oidc-failure', key: '__Host-oidc-key', deepLink: '__Host-oidc-return' } as const
const LASTS_S = { failure: 60, key: 600, deepLink: 600 } as const
type CarriedValue = keyof typeof COOKIES

export function carry(res: Response, name: CarriedValue, value: string): void {
  res.append('Set-Cookie', setCookie(name, value, LASTS_S[name]))
}

function drop(res: Response, name: CarriedValue): void {
  res.append('Set-Cookie', setCookie(name, '', 0))
}

function setCookie(name: CarriedValue, value: string, maxAge: number): string {
  return stringifySetCookie({
    name: COOKIES[name],
    value,
    maxAge,
    path: '/',
    httpOnly: true,
    secure: true,
    sameSite: 'lax',
  })
}

function carried(req: MeshRequest, name: CarriedValue): string | undefined {
  return parseCookie(req.headers.cookie ?? '')[COOKIES[name]] || undefined
}

/** Adds the login key that the browser started with to a path. Without it, MeshCentral answers 404. */
export function withLoginKey(path: string, req: MeshRequest): string {
  const key = req.xdomain ? loginKeyOf(req.xdomain, carried(req, 'key')) : undefined
  return typeof key === 'string' ? withQuery(path, 'key', key) : path
}

export function withQuery(path: string, name: string, value: string): string {
  const url = new URL(path, 'https://here.invalid')
  url.searchParams.set(name, value)
  return url.pathname + url.search + url.hash
}

/** Runs before a login starts: remembers the login key, and passes on the page that the user wanted before. */
export const rememberDestination: RequestHandler = (req, res, next) => {
  const request = meshRequest(req)
  const key = request.xdomain ? loginKeyOf(request.xdomain, request.query.key) : undefined
  if (typeof key === 'string') carry(res, 'key', key)
  const deepLink = carried(request, 'deepLink')
  if (deepLink !== undefined) {
    drop(res, 'deepLink')
    request.query.return ??= deepLink
  }
  next()
}

/** Runs before a logout: remembers the login key, which the login page needs after the return from the IdP. */
export const rememberKey: RequestHandler = (req, res, next) => {
  const request = meshRequest(req)
  const key = request.xdomain ? loginKeyOf(request.xdomain, request.query.key) : undefined
  if (typeof key === 'string') carry(res, 'key', key)
  next()
}

/** Makes the login page tell the browser's user that the session ended. */
export function carrySessionEnded(res: Response): void {
  carry(res, 'failure', SESSION_ENDED)
}

/**
 * Handles `<url>login` before MeshCentral's own page: shows why a login failed, or redirects to where that is shown.
 *
 * @param domains ids of the domains that sign in through the plugin
 * @param hasEnded whether a request came with a session that ended
 */
export function loginPageVisit(domains: ReadonlySet<string>, hasEnded: (req: MeshRequest) => boolean): RequestHandler {
  return (req, res, next) => {
    const request = meshRequest(req)
    const domain = request.xdomain
    if (!domain || !domains.has(domain.id)) return next()
    const isEnded = hasEnded(request)
    const isMessagePending = hasMessage(request)
    if (isEnded && !isMessagePending) carrySessionEnded(res)
    const failure = isEnded ? SESSION_ENDED : carried(request, 'failure')
    const messageid = Number(failure)
    if (loginKeyOf(domain, request.query.key) === null) {
      const address = request.originalUrl.length > MOST_ADDRESS_CHARACTERS ? request.path : request.originalUrl
      const withKey = withLoginKey(address, request)
      if (withKey === address) return next()
      drop(res, 'key')
      return res.redirect(302, withKey)
    }
    if (isMessagePending) {
      if (failure !== undefined) drop(res, 'failure')
      return next()
    }
    if (failure === SIGNED_OUT_HERE) {
      drop(res, 'failure')
      const loginPage = escapeMarkup(request.originalUrl)
      const link = `<a href="${loginPage}">Continue to the login page</a>`
      sendPage(res, 'Signed out', `<p>${MESSAGES[failure]}</p><p>${link}</p>`)
      return
    }
    if (failure !== SESSION_ENDED && !Object.values<number>(MESSAGE).includes(messageid)) return next()
    drop(res, 'failure')
    if (typeof request.session?.userid === 'string') return res.redirect(302, domain.url)
    const message = failure === SESSION_ENDED ? { flash: { error: [SESSION_ENDED_TEXT] } } : { messageid }
    Object.assign(request.session ?? {}, { loginmode: 1, ...message })
    next()
  }
}

/**
 * Handles the domain's root page. If a signed-out user follows a link into it, the next login leads there. A user whose
 * session ended is redirected to the login page, which says so, even if the domain redirects signed-out users
 * elsewhere.
 *
 * @param domains ids of the domains that sign in through the plugin
 * @param hasEnded whether a request came with a session that ended
 */
export function rootPageVisit(domains: ReadonlySet<string>, hasEnded: (req: MeshRequest) => boolean): RequestHandler {
  return (req, res, next) => {
    const request = meshRequest(req)
    const domain = request.xdomain
    if (!domain || !domains.has(domain.id) || request.path !== domain.url) return next()
    const isEnded = hasEnded(request)
    const endedEarlier = isEnded || carried(request, 'failure') === SESSION_ENDED
    if (typeof request.session?.userid === 'string') {
      if (endedEarlier) drop(res, 'failure')
      return next()
    }
    const names = Object.keys(request.query)
    // An address with credentials is not kept.
    if (names.some((name) => SECRET.has(name))) return next()
    // The login checks a deep link like any return path.
    const isShort = encodeURIComponent(request.originalUrl).length <= MOST_LINK_BYTES
    if (isShort && names.some((name) => DEEP_LINK.has(name))) carry(res, 'deepLink', request.originalUrl)
    if (!endedEarlier) return next()
    if (isEnded && !hasMessage(request)) carrySessionEnded(res)
    const { key } = request.query
    const path = withLoginKey(`${domain.url}login`, request)
    const isKey = typeof key === 'string' && key.length <= MOST_ADDRESS_CHARACTERS
    res.redirect(302, isKey ? withQuery(path, 'key', key) : path)
  }
}

/** Limit for parts of an address that the sender of a request chose, in a redirect. */
const MOST_ADDRESS_CHARACTERS = 1_000
/**
 * Limit for a deep link in a cookie. Links to a device or a group have some 150 bytes. A proxy with its defaults
 * refuses answers with a few thousand.
 */
const MOST_LINK_BYTES = 600
/** Whether MeshCentral itself is about to show a message, which then takes precedence. */
function hasMessage({ session }: MeshRequest): boolean {
  return typeof session?.messageid === 'number'
}

/** Parameters that MeshCentral's root page reads from its address. */
const DEEP_LINK = new Set([
  'viewmode',
  'node',
  'gotonode',
  'gotodevicename',
  'gotodeviceip',
  'gotomesh',
  'gotouser',
  'gotougrp',
])
/** Parameters that carry credentials. */
const SECRET = new Set(['user', 'pass', 'login', 'ws', 'auth'])

/**
 * Sends the browser to a path. With strict session cookies, a page of ours does it: after a redirect that started at
 * the IdP, the browser would not send its new session.
 */
export function sendOn(res: Response, path: string, isStrict: boolean): void {
  if (!isStrict) {
    res.redirect(302, path)
    return
  }
  const address = escapeMarkup(path)
  const refresh = `<meta http-equiv="refresh" content="0;url=${address}">`
  sendPage(res, 'Signing in', `<p><a href="${address}">Continue</a></p>`, refresh)
}

/** Sends a page of finished markup instead of MeshCentral's own page. */
function sendPage(res: Response, title: string, body: string, head = ''): void {
  res
    .status(200)
    .set('Cache-Control', 'no-store')
    .type('html')
    .send(smallPage(title, body, head))
}

/**
 * Makes the next visit of the login page say that the user was signed out here, but not at the IdP. MeshCentral has no
 * message for that.
 */
export function showSignedOutOnce(res: Response, { url }: MeshDomain, req: MeshRequest, isStrict: boolean): void {
  carry(res, 'failure', SIGNED_OUT_HERE)
  sendOn(res, withLoginKey(`${url}login`, req), isStrict)
}

/** Returns the path that a failed login leads to. It shows the login page even in maintenance mode. */
export function failurePath({ url }: MeshDomain, message: number, req: MeshRequest): string {
  const path = withLoginKey(`${url}login`, req)
  return message === MESSAGE.maintenance ? withQuery(path, 'loginscreen', '1') : path
}
