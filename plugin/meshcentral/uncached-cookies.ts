import type { IncomingMessage, ServerResponse } from 'node:http'
import { cookieSignIn } from '../host/cookie-session.ts'
import { replaceFunction } from './replaced-functions.ts'
import { type MeshSocket, type MeshWeb, meshRequest } from './server.ts'

type Handle = (req: IncomingMessage & { readonly ws?: MeshSocket }, res: ServerResponse, next?: unknown) => void

/**
 * Corrects the cookies of answers: keeps them out of caches, removes empty sessions, and adds `Secure`. Install it
 * before any middleware that sets cookies. Answers of web relays stay unchanged, because a device's own web server made
 * them.
 */
export function keepCookiesFromCaches({ app, args }: Partial<Pick<MeshWeb, 'app' | 'args'>>): void {
  // An unknown version of MeshCentral may lack `app`.
  if (!app) return
  const relayHosts: readonly unknown[] = Array.isArray(args?.relaydns) ? args.relaydns : []
  const handled = app as unknown as { handle?: Handle }
  replaceFunction('app.handle (cookies)', handled, 'handle', (handle) => (req, res, ...rest) => {
    if (!req.ws && !relayHosts.includes(req.headers.host?.replace(/:\d*$/, ''))) {
      beforeHead(res, () => {
        if (!res.hasHeader('Set-Cookie')) return
        removeEmptySessions(req, res)
        if (/^(GET|HEAD)$/.test(req.method ?? '')) keepFromCaches(req.url ?? '', res)
        if (res.hasHeader('Set-Cookie') && cookieSignIn(meshRequest(req))) addSecure(res)
      })
    }
    handle(req, res, ...rest)
  })
}

/** Runs `act` before the answer's head is written, after cookie-session added its cookie. */
function beforeHead(res: ServerResponse, act: () => void): void {
  replaceFunction('res.writeHead (cookies)', res, 'writeHead', (writeHead) => {
    const actFirst = (...head: Parameters<typeof writeHead>) => {
      act()
      return writeHead(...head)
    }
    return actFirst as typeof writeHead
  })
}

/** MeshCentral's session cookie with the content `{}`. */
const EMPTY_SESSION = /^xid=e30=(?:;|$)/
const SESSION_COOKIE = /^xid(?:\.sig)?=/

/**
 * Removes the cookie of an empty session, which MeshCentral sends if a request had no session. A late answer would undo
 * a login that another tab has finished. Keeps it if the request had a session, because it then signs the user out.
 */
function removeEmptySessions(req: IncomingMessage, res: ServerResponse): void {
  const cookies = [res.getHeader('Set-Cookie') ?? []].flat().map(String)
  const broughtSession = (req.headers.cookie ?? '').split(';').some((cookie) => cookie.trim().startsWith('xid='))
  if (broughtSession || !cookies.some((cookie) => EMPTY_SESSION.test(cookie))) return
  const remaining = cookies.filter((cookie) => !SESSION_COOKIE.test(cookie))
  if (remaining.length > 0) res.setHeader('Set-Cookie', remaining)
  else res.removeHeader('Set-Cookie')
}

/**
 * Adds `Secure` to cookies. With `tlsOffload`, MeshCentral omits it from its session cookie, although browsers connect
 * by https.
 */
function addSecure(res: ServerResponse): void {
  const cookies = [res.getHeader('Set-Cookie') ?? []].flat().map(String)
  res.setHeader(
    'Set-Cookie',
    cookies.map((cookie) => (/;\s*secure\b/i.test(cookie) ? cookie : `${cookie}; secure`)),
  )
}

/**
 * Keeps cookies out of caches (RFC 9111, sections 3 and 7.3). Some caches store MeshCentral's session cookie with a
 * file, such as Nginx Proxy Manager with "Cache Assets". The next user would then be signed in as another user.
 */
function keepFromCaches(url: string, res: ServerResponse): void {
  const cacheControl = String(res.getHeader('Cache-Control') ?? '')
  if (/\b(no-store|private)\b/i.test(cacheControl)) return
  if (namesFile(url) || /\bpublic\b/i.test(cacheControl)) res.removeHeader('Set-Cookie')
  else res.setHeader('Cache-Control', cacheControl === '' ? 'private' : `${cacheControl}, private`)
}

/**
 * Whether the last part of the path has a file extension. MeshCentral's own pages have `.ashx`, which does not count.
 */
function namesFile(url: string): boolean {
  const [path = ''] = url.split('?', 1)
  const name = path.slice(path.lastIndexOf('/') + 1)
  const dot = name.indexOf('.')
  return dot >= 0 && name.slice(dot + 1).toLowerCase() !== 'ashx'
}
