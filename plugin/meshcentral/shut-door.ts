import { randomBytes } from 'node:crypto'
import type { RequestHandler } from 'express'
import { firstRoute, layersOf, missingOf, type Sealing } from './self-test.ts'
import type { MeshRequest, MeshWeb } from './server.ts'
import { userOf } from './sessions/sealed-cookies.ts'
import { refuseTokenLogins } from './sessions/token-logins.ts'

export interface ShutDoor {
  /** MeshCentral's own, as it was before. */
  readonly sealing: Partial<Sealing>
  /**
   * Has HTTP and sockets come through, before any route.
   *
   * @param bases paths of the domains
   */
  mount(web: Partial<Pick<MeshWeb, 'app' | 'authenticate'>>, bases: readonly string[]): void
  /** From now on the guard holds the sessions of these domains, and this seals and opens for MeshCentral. */
  openFor(domains: ReadonlySet<string>, sealing: Sealing): void
  isOpen(): boolean
  /** Lets nobody in any more. */
  shut(): void
  /** Makes void all that was sealed, everybody's: where MeshCentral does not open it by ours. Pages get it anew. */
  voidSealed(): void
}

export interface ShutDoorOptions {
  /** Called once, with the first account that it kept out. */
  readonly onDropped: (user: string) => void
  /** Called when the first request is not as it has to be, which shuts the door again, with what it lacks. */
  readonly onMissing: (names: readonly string[]) => void
}

/**
 * Lets nobody in whose account is one of single sign-on, by a session, by a login token, or by what MeshCentral sealed,
 * on HTTP and web sockets, wherever the guard is not at work: before it is, where it could not start, and in domains
 * without an `oidc` object. MeshCentral alone takes each cookie that its key signed, those of sessions that were ended
 * too.
 */
export function shutDoor(server: Partial<Sealing>, { onDropped, onMissing }: ShutDoorOptions): ShutDoor {
  let held: ReadonlySet<string> = new Set()
  let told = false
  // A version that has neither is one that nothing is known of.
  const seal = server.encodeCookie?.bind(server)
  const unseal = server.decodeCookie?.bind(server)
  const own = { ...(seal && { encodeCookie: seal }), ...(unseal && { decodeCookie: unseal }) }
  let now: Partial<Sealing> = own
  // MeshCentral's parts that keep what they found at the start keep these.
  if (seal) server.encodeCookie = (...given) => (now.encodeCookie ?? seal)(...given)
  if (unseal)
    server.decodeCookie = (...given) => {
      const cookie = (now.decodeCookie ?? unseal)(...given)
      return cookie !== null && isUnheld(userOf(cookie)) ? null : cookie
    }

  function isUnheld(user: unknown): boolean {
    const domainId = typeof user === 'string' ? /^user\/([^/]*)\/~oidc:/.exec(user)?.[1] : undefined
    if (domainId === undefined || held.has(domainId)) return false
    if (!told) onDropped(String(user))
    told = true
    return true
  }

  function shut(): void {
    held = new Set()
    now = own
  }

  let isFirst = true
  const admit: RequestHandler = (req, res, next) => {
    const request = req as MeshRequest
    const missing = isFirst && now !== own ? missingOf(request) : []
    isFirst = false
    if (missing.length > 0) {
      shut()
      onMissing(missing)
    }
    if (isUnheld(request.session?.userid)) Reflect.set(req, 'session', {})
    // MeshCentral may have it where nobody else sees it.
    else if (!request.session && isUnheld(userInCookie(req.headers.cookie))) {
      if (request.ws) request.ws.close()
      else res.clearCookie('xid').status(401).type('text/plain').send('You are signed out. Load the page again.')
      return
    }
    next()
  }

  return {
    sealing: own,
    mount(web, bases) {
      const { app } = web
      refuseTokenLogins(web, isUnheld)
      app?.use(admit)
      const layers = app && layersOf(app)
      const mounted = layers?.pop()
      if (!layers || !mounted) return
      const at = firstRoute(layers, bases)
      layers.splice(at < 0 ? layers.length : at, 0, mounted)
    },
    openFor(domains, sealing) {
      held = domains
      now = sealing
    },
    isOpen: () => now !== own,
    shut,
    voidSealed() {
      const key = randomBytes(80)
      // MeshCentral may not have read its own yet.
      Object.defineProperty(server, 'loginCookieEncryptionKey', { get: () => key, set: () => undefined })
    },
  }
}

/** Whose session a browser brings: MeshCentral signs the cookie, and does not seal it. */
function userInCookie(cookies = ''): string | undefined {
  const [, value = ''] = /(?:^|;\s*)xid=([^;]*)/.exec(cookies) ?? []
  return /"userid":"([^"]*)"/.exec(Buffer.from(value, 'base64').toString())?.[1]
}
