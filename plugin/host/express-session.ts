import type { Request, Response } from 'express'
import type { Session } from 'express-session'
import type { Sessions, SignIn } from './port.ts'

export interface ExpressSessionsOptions {
  /** The option `name` that express-session was set up with. Default: its own, `connect.sid`. */
  readonly cookieName?: string
  /** How long a session store may take for one operation. Default 10,000. */
  readonly storeTimeoutMs?: number
}

/** Where the login stands in the session; the host's own keys are left alone, but do not outlive a login. */
const KEY = 'oidcSignIn'

/**
 * The sessions of a server that uses `express-session` with any of its stores. The middleware has to be in place before the
 * plugin's routes. Everything rejects when the store fails or does not answer in time; then nobody is signed in.
 */
export function expressSessions(options: ExpressSessionsOptions = {}): Sessions {
  const { cookieName = 'connect.sid', storeTimeoutMs = 10_000 } = options
  const settle = (what: string, run: StoreCall) => withinTime(storeTimeoutMs, what, run)
  return {
    async start(req, _res, signIn) {
      // A new id and an empty session: whoever planted the old id, or left something in the session, has nothing of this login.
      const before = sessionOf(req)
      await settle('replace the session', (done) => before.regenerate(done))
      const session = sessionOf(req)
      Reflect.set(session, KEY, signIn)
      try {
        // Saved before the browser is sent on: its next request may come before the end of this one.
        await settle('save the session', (done) => session.save(done))
      } catch (error) {
        // Without this the middleware would try once more at the end of the request, and sign in after all.
        void settle('drop the session', (done) => session.destroy(done)).catch(() => undefined)
        throw error
      }
    },
    current: (req) => (hasSession(req) ? readSignIn(Reflect.get(req.session, KEY)) : undefined),
    async end(req, res) {
      const session = sessionOf(req)
      clearCookie(res, cookieName, session)
      await settle('end the session', (done) => session.destroy(done))
    },
  }
}

// Its type says that every request has one; that is so only behind the middleware, and until the session is destroyed.
function hasSession(req: Request): boolean {
  const session: unknown = Reflect.get(req, 'session')
  return typeof session === 'object' && session !== null
}

function sessionOf(req: Request): Session {
  if (!hasSession(req)) throw new Error('There is no session: express-session has to be used before the plugin.')
  return req.session
}

function clearCookie(res: Response, name: string, { cookie }: Session): void {
  // A browser takes a removal only for the same path and domain, and a secure cookie's only as a secure one.
  const { path, domain, secure, httpOnly, sameSite } = cookie
  res.clearCookie(name, {
    ...(path === undefined ? {} : { path }),
    ...(domain === undefined ? {} : { domain }),
    ...(typeof secure === 'boolean' ? { secure } : {}),
    ...(httpOnly === undefined ? {} : { httpOnly }),
    ...(sameSite === undefined ? {} : { sameSite }),
    ...(Reflect.get(cookie, 'partitioned') === true ? { partitioned: true } : {}),
  })
}

/** Stores are other people's databases: what comes back is checked like anything from outside. */
function readSignIn(value: unknown): SignIn | undefined {
  if (typeof value !== 'object' || value === null) return undefined
  const { domainKey, userId, issuer, subject, sid, idToken } = value as Partial<Record<keyof SignIn, unknown>>
  if (typeof domainKey !== 'string' || typeof issuer !== 'string' || typeof subject !== 'string') return undefined
  if (typeof idToken !== 'string' || (sid !== null && typeof sid !== 'string') || !isUserId(userId)) return undefined
  return { domainKey, userId, issuer, subject, sid, idToken }
}

function isUserId(value: unknown): value is SignIn['userId'] {
  return typeof value === 'string' && value.startsWith('~oidc:') && value.length > '~oidc:'.length
}

type StoreCall = (done: (error?: unknown) => void) => void

function withinTime(limitMs: number, what: string, run: StoreCall): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`The session store took too long to ${what}.`)), limitMs)
    const finish = (error?: unknown) => {
      clearTimeout(timer)
      // Stores report a failure by any truthy value; the middleware's own callbacks use null and undefined for success.
      if (error) reject(new Error(`The session store could not ${what}.`, { cause: error }))
      else resolve()
    }
    try {
      run(finish)
    } catch (error) {
      finish(error)
    }
  })
}
