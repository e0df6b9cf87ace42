import { parseCookie, stringifySetCookie } from 'cookie'
import type { RequestHandler, Response } from 'express'
import { type LoginErrorCode, MESSAGES, type MessageCode } from '../../errors.ts'
import type { LoginFailure } from '../../host/port.ts'
import { escapeMarkup, smallPage } from '../../routes/markup.ts'
import { type MeshDomain, type MeshRequest, meshRequest } from '../server.ts'
import { loginKeyOf } from './gate.ts'

/** The numbers of MeshCentral's own messages. Its login page uses them to choose a text. */
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

/** The code of the plugin's own message to a user who was signed out here, but not at the IdP. */
export const SIGNED_OUT_HERE = 'signed_out_here' satisfies MessageCode
/** The value of the cookie `failure` after the browser sent a session that had ended. */
const SESSION_ENDED = 'session_over'
/**
 * MeshCentral's login page also accepts free text, but inserts it as markup into a string of its script. So pass it no
 * text other than this constant.
 */
const SESSION_ENDED_TEXT =
  'You were signed out by the sign-in service, or your session has expired. Please sign in again.'

/** MeshCentral's messages for login errors that have a fitting message of their own. */
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

/**
 * MeshCentral's messages for login errors that are missing in `MESSAGE_OF`. Each is the closest match to the text that
 * other hosts show.
 */
const MESSAGE_FOR: Record<MessageCode, number> = {
  login_failed: MESSAGE.failed,
  login_expired: MESSAGE.securityCheck,
  provider_unreachable: MESSAGE.failed,
  provider_refused: MESSAGE.failed,
  // MeshCentral has no message for a user who cancelled. "Access denied" is closer than "Login failed", which also
  // mentions user names and passwords.
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
 * The cookies that carry values through a login. With `sessionSameSite` strict, the session cookie does not return from
 * the IdP. It may also belong to a signed-in user.
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

/** Adds the login key from the browser's cookie to a path. Without the key, MeshCentral answers 404. */
export function withLoginKey(path: string, req: MeshRequest): string {
  const key = req.xdomain ? loginKeyOf(req.xdomain, carried(req, 'key')) : undefined
  return typeof key === 'string' ? withQuery(path, 'key', key) : path
}

export function withQuery(path: string, name: string, value: string): string {
  const url = new URL(path, 'https://here.invalid')
  url.searchParams.set(name, value)
  return url.pathname + url.search + url.hash
}

/**
 * Runs before a login starts. Stores the login key in a cookie, and makes the login return to the page that the user
 * asked for before the login.
 */
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

/**
 * Runs before a logout. Stores the login key in a cookie, because the login page needs it when the browser returns from
 * the IdP.
 */
export const rememberKey: RequestHandler = (req, res, next) => {
  const request = meshRequest(req)
  const key = request.xdomain ? loginKeyOf(request.xdomain, request.query.key) : undefined
  if (typeof key === 'string') carry(res, 'key', key)
  next()
}

/** Makes the login page tell the user that the session ended. */
export function carrySessionEnded(res: Response): void {
  carry(res, 'failure', SESSION_ENDED)
}

/**
 * Handles `<url>login` first, and shows why a login failed or a session ended.
 *
 * @param domains ids of the domains with single sign-on
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
 * Handles the domain's root page. If a signed-out user follows a link, such as to a device, the next login leads there.
 * If a session ended, redirects to the login page, which says so.
 *
 * @param domains ids of the domains with single sign-on
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
    // Do not store an address with credentials in a cookie.
    if (names.some((name) => SECRET.has(name))) return next()
    // The request's address may be malicious. The login checks it later, as it checks every return path.
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

/**
 * Limit of the length of a text that a redirect copies from the request's address, in characters. Longer texts are
 * omitted.
 */
const MOST_ADDRESS_CHARACTERS = 1_000
/**
 * Limit of a deep link's size in a cookie. Links have some 150 bytes. Proxies refuse a few thousand bytes of headers.
 */
const MOST_LINK_BYTES = 600
/** Whether MeshCentral itself is about to show a message. In that case, the plugin shows none. */
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
/** Names of query parameters that contain credentials. */
const SECRET = new Set(['user', 'pass', 'login', 'ws', 'auth'])

/**
 * Sends the browser to a path. A redirect that began at the IdP would lack a strict session cookie, so a page reloads
 * instead.
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

/** Sends a small HTML page of the plugin instead of MeshCentral's own page. */
function sendPage(res: Response, title: string, body: string, head = ''): void {
  res
    .status(200)
    .set('Cache-Control', 'no-store')
    .type('html')
    .send(smallPage(title, body, head))
}

/** Makes the login page say once that the user is signed out here, but not at the IdP. MeshCentral cannot say that. */
export function showSignedOutOnce(res: Response, { url }: MeshDomain, req: MeshRequest, isStrict: boolean): void {
  carry(res, 'failure', SIGNED_OUT_HERE)
  sendOn(res, withLoginKey(`${url}login`, req), isStrict)
}

/** Returns the path of the login page for a failed login. The path works in maintenance mode too. */
export function failurePath({ url }: MeshDomain, message: number, req: MeshRequest): string {
  const path = withLoginKey(`${url}login`, req)
  return message === MESSAGE.maintenance ? withQuery(path, 'loginscreen', '1') : path
}
