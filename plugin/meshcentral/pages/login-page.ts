import { parseCookie, stringifySetCookie } from 'cookie'
import type { RequestHandler, Response } from 'express'
import { type LoginErrorCode, MESSAGES, type MessageCode } from '../../errors.ts'
import type { LoginFailure } from '../../host/port.ts'
import { escapeMarkup, smallPage } from '../../routes/markup.ts'
import type { MeshDomain, MeshRequest } from '../server.ts'
import { loginKeyOf } from './gate.ts'

/** Numbers of MeshCentral's own messages: its login page takes no other text. */
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
/** A session that a browser still brings, though it has ended. */
const SESSION_OVER = 'session_over'
/** MeshCentral's login page takes free text as well, as markup in a string of its script: never anything but this. */
const SESSION_OVER_TEXT =
  'You were signed out by the sign-in service, or your session has expired. Please sign in again.'

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

/** For the reasons that are not above: what the person would read elsewhere, in the nearest of MeshCentral's words. */
const MESSAGE_FOR: Record<MessageCode, number> = {
  login_failed: MESSAGE.failed,
  login_expired: MESSAGE.securityCheck,
  provider_unreachable: MESSAGE.failed,
  provider_refused: MESSAGE.failed,
  // There is no word for somebody who changed their mind; "login failed" goes on about user names and passwords.
  sign_in_cancelled: MESSAGE.denied,
  sign_in_incomplete: MESSAGE.denied,
  access_denied: MESSAGE.denied,
  maintenance: MESSAGE.maintenance,
  not_configured: MESSAGE.denied,
  signed_out_here: MESSAGE.failed,
}

/** MeshCentral's message for a login that failed. */
export function messageOf({ reason, code }: Pick<LoginFailure, 'reason' | 'code'>): number {
  return ownNumber(MESSAGE_OF, reason) ?? ownNumber(MESSAGE_FOR, code) ?? MESSAGE.failed
}

function ownNumber(numbers: Readonly<Record<string, number>>, name: string): number | undefined {
  return Object.hasOwn(numbers, name) ? numbers[name] : undefined
}

/**
 * What a browser takes with it through a login: each in a cookie of its own, which comes back where the session's
 * cookie does not when `sessionSameSite` is strict, and so does not touch the session of somebody who is signed in.
 */
const COOKIES = { failure: '__Host-oidc-failure', key: '__Host-oidc-key', deepLink: '__Host-oidc-return' } as const
const LASTS_S = { failure: 60, key: 600, deepLink: 600 } as const
type Carried = keyof typeof COOKIES

export function carry(res: Response, what: Carried, value: string): void {
  res.append('Set-Cookie', setCookie(what, value, LASTS_S[what]))
}

function drop(res: Response, what: Carried): void {
  res.append('Set-Cookie', setCookie(what, '', 0))
}

function setCookie(what: Carried, value: string, maxAge: number): string {
  const name = COOKIES[what]
  return stringifySetCookie({ name, value, maxAge, path: '/', httpOnly: true, secure: true, sameSite: 'lax' })
}

function carried(req: MeshRequest, what: Carried): string | undefined {
  return parseCookie(req.headers.cookie ?? '')[COOKIES[what]] || undefined
}

/** A path with the login key that the browser began with: without it, MeshCentral answers that there is nothing. */
export function withLoginKey(path: string, req: MeshRequest): string {
  const key = req.xdomain ? loginKeyOf(req.xdomain, carried(req, 'key')) : undefined
  return typeof key === 'string' ? withQuery(path, 'key', key) : path
}

export function withQuery(path: string, name: string, value: string): string {
  const url = new URL(path, 'https://here.invalid')
  url.searchParams.set(name, value)
  return url.pathname + url.search + url.hash
}

/** Begins a login: remembers the login key, and gives it the page that the person wanted before. */
export const rememberWay: RequestHandler = (req, res, next) => {
  const request = req as MeshRequest
  const key = request.xdomain ? loginKeyOf(request.xdomain, request.query.key) : undefined
  if (typeof key === 'string') carry(res, 'key', key)
  const deepLink = carried(request, 'deepLink')
  if (deepLink !== undefined) {
    drop(res, 'deepLink')
    request.query.return ??= deepLink
  }
  next()
}

/** Ends a session: back from the IdP, the login page needs its key again. */
export const rememberKey: RequestHandler = (req, res, next) => {
  const request = req as MeshRequest
  const key = request.xdomain ? loginKeyOf(request.xdomain, request.query.key) : undefined
  if (typeof key === 'string') carry(res, 'key', key)
  next()
}

/** What a browser with a session that has ended is to read when it comes to the login page. */
export function carrySessionOver(res: Response): void {
  carry(res, 'failure', SESSION_OVER)
}

/**
 * `<url>login`, before MeshCentral's own page: says what failed, and goes on to where it can be seen.
 *
 * @param hasEnded whether a request came with a session that has ended
 */
export function loginPageVisit(own: ReadonlySet<string>, hasEnded: (req: MeshRequest) => boolean): RequestHandler {
  return (req, res, next) => {
    const request = req as MeshRequest
    const domain = request.xdomain
    if (!domain || !own.has(domain.id)) return next()
    const isEnded = hasEnded(request)
    const isTold = hasMessage(request)
    if (isEnded && !isTold) carrySessionOver(res)
    const told = isEnded ? SESSION_OVER : carried(request, 'failure')
    const failure = Number(told)
    if (loginKeyOf(domain, request.query.key) === null) {
      const asked = request.originalUrl.length > MOST_ADDRESS_CHARACTERS ? request.path : request.originalUrl
      const withKey = withLoginKey(asked, request)
      if (withKey === asked) return next()
      drop(res, 'key')
      return res.redirect(302, withKey)
    }
    if (isTold) {
      if (told !== undefined) drop(res, 'failure')
      return next()
    }
    if (told === SIGNED_OUT_HERE) {
      drop(res, 'failure')
      const again = escapeMarkup(request.originalUrl)
      sendPage(res, 'Signed out', `<p>${MESSAGES[told]}</p><p><a href="${again}">Go on to the login page</a></p>`)
      return
    }
    if (told !== SESSION_OVER && !Object.values<number>(MESSAGE).includes(failure)) return next()
    drop(res, 'failure')
    if (typeof request.session?.userid === 'string') return res.redirect(302, domain.url)
    const message = told === SESSION_OVER ? { flash: { error: [SESSION_OVER_TEXT] } } : { messageid: failure }
    Object.assign(request.session ?? {}, { loginmode: 1, ...message })
    next()
  }
}

/**
 * The domain's root page: a link into it, followed by somebody who is signed out, is where the next login leads. Whose
 * session has ended goes on to the login page, which says so, wherever the domain sends others who are signed out.
 *
 * @param hasEnded whether a request came with a session that has ended
 */
export function rootPageVisit(own: ReadonlySet<string>, hasEnded: (req: MeshRequest) => boolean): RequestHandler {
  return (req, res, next) => {
    const request = req as MeshRequest
    const domain = request.xdomain
    if (!domain || !own.has(domain.id) || request.path !== domain.url) return next()
    const isEnded = hasEnded(request)
    const isToldSo = isEnded || carried(request, 'failure') === SESSION_OVER
    if (typeof request.session?.userid === 'string') {
      if (isToldSo) drop(res, 'failure')
      return next()
    }
    // Credentials may stand in such an address; they are nothing to keep. It is checked like any return path when it is
    // used.
    const names = Object.keys(request.query)
    if (names.some((name) => SECRET.has(name))) return next()
    const isShort = encodeURIComponent(request.originalUrl).length <= MOST_LINK_BYTES
    if (isShort && names.some((name) => DEEP_LINK.has(name))) carry(res, 'deepLink', request.originalUrl)
    if (!isToldSo) return next()
    if (isEnded && !hasMessage(request)) carrySessionOver(res)
    const { key } = request.query
    const path = withLoginKey(`${domain.url}login`, request)
    const isKey = typeof key === 'string' && key.length <= MOST_ADDRESS_CHARACTERS
    res.redirect(302, isKey ? withQuery(path, 'key', key) : path)
  }
}

/** Of what somebody else has made up, in an address that a browser is sent to: the same holds for it. */
const MOST_ADDRESS_CHARACTERS = 1_000
/**
 * In a cookie. Links to a device or a group have some 150; a proxy with its defaults refuses answers with a few
 * thousand.
 */
const MOST_LINK_BYTES = 600
/** Whether MeshCentral itself is about to tell something: it knows better. */
function hasMessage({ session }: MeshRequest): boolean {
  return typeof session?.messageid === 'number'
}

/** What MeshCentral's root page reads out of its address. */
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
const SECRET = new Set(['user', 'pass', 'login', 'ws', 'auth'])

/**
 * Sends the browser on. With strict session cookies by a page of ours: after a redirect that began at the IdP, the
 * browser would come without its new session.
 */
export function goOn(res: Response, path: string, isStrict: boolean): void {
  if (!isStrict) {
    res.redirect(302, path)
    return
  }
  const address = escapeMarkup(path)
  const refresh = `<meta http-equiv="refresh" content="0;url=${address}">`
  sendPage(res, 'Signing in', `<p><a href="${address}">Go on</a></p>`, refresh)
}

/** A page in place of MeshCentral's own, of finished markup. */
function sendPage(res: Response, title: string, body: string, head = ''): void {
  res
    .status(200)
    .set('Cache-Control', 'no-store')
    .type('html')
    .send(smallPage(title, body, head))
}

/**
 * MeshCentral has no message for somebody who was signed out here and not at the IdP: the next visit of the login page
 * says so before it shows anything else.
 */
export function sayOnceSignedOut(res: Response, { url }: MeshDomain, req: MeshRequest, isStrict: boolean): void {
  carry(res, 'failure', SIGNED_OUT_HERE)
  goOn(res, withLoginKey(`${url}login`, req), isStrict)
}

/** Where a failed login leads. The login page is shown even in maintenance mode, with the message. */
export function failurePath({ url }: MeshDomain, message: number, req: MeshRequest): string {
  const path = withLoginKey(`${url}login`, req)
  return message === MESSAGE.maintenance ? withQuery(path, 'loginscreen', '1') : path
}
