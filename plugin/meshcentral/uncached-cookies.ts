import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Request } from 'express'
import { cookieSignIn } from '../host/cookie-session.ts'
import type { MeshSocket, MeshWeb } from './server.ts'

/**
 * Lets no answer set a cookie that a cache may keep. MeshCentral renews its session's cookie once a minute with
 * whatever is asked for, and caches that keep `Set-Cookie` beside a file, as a common proxy's switch for assets does,
 * sign the next one who asks for it in as the one who fetched it. Sessions are still renewed by pages and by what keeps
 * them alive. And lets no session of ours go without `Secure`.
 *
 * Nor does an answer begin an empty session. MeshCentral sets one with each answer to a request that brought none, and
 * where that comes late, it overwrites the cookie of a login that another tab has finished meanwhile: several tabs sign
 * in, and nobody is signed in.
 *
 * In place before all that sets cookies. What a web relay hands on is a device's own.
 */
export function keepCookiesFromCaches({ app, args }: Partial<Pick<MeshWeb, 'app' | 'args'>>): void {
  // A version without it is one that nothing is known of.
  if (!app) return
  const relays: readonly unknown[] = Array.isArray(args?.relaydns) ? args.relaydns : []
  const { handle } = app as unknown as { readonly handle: Handle }
  const handleUncached: Handle = (req, res, ...rest) => {
    if (!req.ws && !relays.includes(req.headers.host?.replace(/:\d*$/, ''))) {
      beforeHead(res, () => {
        if (!res.hasHeader('Set-Cookie')) return
        leaveEmptySessions(req, res)
        if (/^(GET|HEAD)$/.test(req.method ?? '')) keepFromCaches(req.url ?? '', res)
        if (res.hasHeader('Set-Cookie') && cookieSignIn(req as Request)) secure(res)
      })
    }
    handle.call(app, req, res, ...rest)
  }
  Object.assign(app, { handle: handleUncached })
}

type Handle = (req: IncomingMessage & { readonly ws?: MeshSocket }, res: ServerResponse, ...rest: unknown[]) => void

/** Behind whatever else waits for that, such as cookie-session with its cookie, which comes in front of it later. */
function beforeHead(res: ServerResponse, act: () => void): void {
  const { writeHead } = res
  res.writeHead = ((...head: Parameters<typeof writeHead>) => {
    act()
    return writeHead.apply(res, head)
  }) as typeof writeHead
}

/** `{}`, by the name that MeshCentral gives its session. */
const EMPTY_SESSION = /^xid=e30=(?:;|$)/
const SESSION_COOKIE = /^xid(?:\.sig)?=/

/** A request that brought a session gets the empty one: it has ended. */
function leaveEmptySessions(req: IncomingMessage, res: ServerResponse): void {
  const set = [res.getHeader('Set-Cookie') ?? []].flat().map(String)
  const brought = (req.headers.cookie ?? '').split(';').some((cookie) => cookie.trim().startsWith('xid='))
  if (brought || !set.some((cookie) => EMPTY_SESSION.test(cookie))) return
  const others = set.filter((cookie) => !SESSION_COOKIE.test(cookie))
  if (others.length > 0) res.setHeader('Set-Cookie', others)
  else res.removeHeader('Set-Cookie')
}

/** Behind `tlsOffload` MeshCentral sets its session's cookie without: who is signed in by us came by https. */
function secure(res: ServerResponse): void {
  const set = [res.getHeader('Set-Cookie') ?? []].flat().map(String)
  res.setHeader(
    'Set-Cookie',
    set.map((cookie) => (/;\s*secure\b/i.test(cookie) ? cookie : `${cookie}; secure`)),
  )
}

/** Source: RFC 9111, sections 3 and 7.3. */
function keepFromCaches(url: string, res: ServerResponse): void {
  const said = String(res.getHeader('Cache-Control') ?? '')
  if (/\b(no-store|private)\b/i.test(said)) return
  if (namesFile(url) || /\bpublic\b/i.test(said)) res.removeHeader('Set-Cookie')
  else res.setHeader('Cache-Control', said === '' ? 'private' : `${said}, private`)
}

/** Whether the last part of the path is a name with an ending, other than that of MeshCentral's own pages. */
function namesFile(url: string): boolean {
  const [path = ''] = url.split('?', 1)
  const name = path.slice(path.lastIndexOf('/') + 1)
  const dot = name.indexOf('.')
  return dot >= 0 && name.slice(dot + 1).toLowerCase() !== 'ashx'
}
