import { randomBytes } from 'node:crypto'
import type { NextFunction, Request, Response } from 'express'
import { replaceFunction } from './replaced-functions.ts'
import { firstRoute, layersOf, missingOf, type Sealing } from './self-test.ts'
import { type MeshWeb, meshRequest } from './server.ts'
import { userOf } from './sessions/sealed-cookies.ts'
import { refuseTokenLogins } from './sessions/token-logins.ts'

export interface LockdownOptions {
  /** Called once, when the lockdown first refuses a user. */
  readonly onDropped: (user: string) => void
  /**
   * Called if MeshCentral did not set all expected members of the first request. The lockdown then applies to all
   * domains again.
   */
  readonly onMissing: (names: readonly string[]) => void
}

/**
 * Refuses users of single sign-on in all domains where the guard (`sessionGuard`) is inactive: their sessions, login
 * tokens and sealed cookies. MeshCentral encrypts these cookies for web sockets and links, and would accept them after
 * the session ended.
 *
 * - *Complete* from the moment when MeshCentral loads the plugin.
 * - *Lifted* for some domains, once the guard is active there. From then on, the functions that `liftFor` received seal
 *   and open cookies.
 * - *Complete* again after a failure, until a restart.
 */
export class Lockdown {
  /** MeshCentral's own functions for sealed cookies. An unknown version of MeshCentral may lack them. */
  readonly sealing: Partial<Sealing>
  readonly #server: Partial<Sealing>
  readonly #options: LockdownOptions
  /** Ids of the domains for which the lockdown is lifted. */
  #domains: ReadonlySet<string> = new Set()
  #sealing: Partial<Sealing>
  #isReported = false
  #isFirstRequest = true

  /**
   * Replaces the server's functions that seal and open cookies. Must run before other parts of MeshCentral copy
   * references to these functions.
   */
  constructor(server: Partial<Sealing>, options: LockdownOptions) {
    const encodeCookie = server.encodeCookie?.bind(server)
    const decodeCookie = server.decodeCookie?.bind(server)
    this.#server = server
    this.#options = options
    this.sealing = { ...(encodeCookie && { encodeCookie }), ...(decodeCookie && { decodeCookie }) }
    this.#sealing = this.sealing
    replaceFunction('server.encodeCookie', server, 'encodeCookie', (encode) => (...values) => {
      return (this.#sealing.encodeCookie ?? encode)(...values)
    })
    replaceFunction('server.decodeCookie', server, 'decodeCookie', (decode) => (...values) => {
      const cookie = (this.#sealing.decodeCookie ?? decode)(...values)
      return cookie !== null && this.#keepsOut(userOf(cookie)) ? null : cookie
    })
  }

  /**
   * Installs the handler that applies the lockdown to requests and sockets, before all routes.
   *
   * @param bases the paths below which the domains are served
   */
  mount(web: Partial<Pick<MeshWeb, 'app' | 'authenticate'>>, bases: readonly string[]): void {
    const { app } = web
    refuseTokenLogins(web, (user) => this.#keepsOut(user))
    app?.use((req, res, next) => this.#check(req, res, next))
    const layers = app && layersOf(app)
    const mounted = layers?.pop()
    if (!layers || !mounted) return
    const route = firstRoute(layers, bases)
    layers.splice(route < 0 ? layers.length : route, 0, mounted)
  }

  /** Lifts the lockdown for domains in which `sessionGuard` checks sessions now. */
  liftFor(domains: ReadonlySet<string>, sealing: Sealing): void {
    this.#domains = domains
    this.#sealing = sealing
  }

  isLifted(): boolean {
    return this.#sealing !== this.sealing
  }

  /** Applies the lockdown to all domains again. */
  restore(): void {
    this.#domains = new Set()
    this.#sealing = this.sealing
  }

  /**
   * Invalidates all sealed cookies. Called if MeshCentral does not open them with the plugin's function. Pages receive
   * new ones. The key is fixed, because MeshCentral may read its own later.
   */
  voidSealed(): void {
    const key = randomBytes(80)
    Object.defineProperty(this.#server, 'loginCookieEncryptionKey', { get: () => key, set: () => undefined })
  }

  #keepsOut(user: unknown): boolean {
    const domainId = typeof user === 'string' ? /^user\/([^/]*)\/~oidc:/.exec(user)?.[1] : undefined
    if (domainId === undefined || this.#domains.has(domainId)) return false
    if (!this.#isReported) this.#options.onDropped(String(user))
    this.#isReported = true
    return true
  }

  #check(req: Request, res: Response, next: NextFunction): void {
    const request = meshRequest(req)
    const missing = this.#isFirstRequest && this.isLifted() ? missingOf(request) : []
    this.#isFirstRequest = false
    if (missing.length > 0) {
      this.restore()
      this.#options.onMissing(missing)
    }
    if (this.#keepsOut(request.session?.userid)) request.session = {}
    // An unknown version of MeshCentral may keep the session in another member of the request.
    else if (!request.session && this.#keepsOut(userInCookie(req.headers.cookie))) {
      if (request.ws) request.ws.close()
      else res.clearCookie('xid').status(401).type('text/plain').send('You are signed out. Reload the page.')
      return
    }
    next()
  }
}

/**
 * Reads the user from the session cookie that a browser sends. MeshCentral signs this cookie and does not encrypt it.
 */
function userInCookie(cookies = ''): string | undefined {
  const [, value = ''] = /(?:^|;\s*)xid=([^;]*)/.exec(cookies) ?? []
  return /"userid":"([^"]*)"/.exec(Buffer.from(value, 'base64').toString())?.[1]
}
