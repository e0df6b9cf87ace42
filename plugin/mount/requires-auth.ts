import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Response } from 'express'
import type { Account } from '../host/port.ts'
import type { Oidc } from './mount-oidc.ts'

/** A middleware by Node's own types, which fit Express 4 and 5. */
export type Middleware = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void

/**
 * Returns a middleware that lets only signed-in users reach the handlers after it. They find the account in
 * `res.locals.account`.
 *
 * A browser that opens a page without being signed in is sent to the IdP, and back to that page after the login. Any
 * other request gets 401: a script cannot follow a redirect to another site, and a form would lose what was posted. A
 * user whose account was removed or locked is not signed in. If a store fails, the error goes to the server's error
 * handler, and no handler after this one runs.
 *
 * Register it after `session(…)`. Every answer behind it is marked `Cache-Control: no-store`, so that no cache shows it
 * to the next user; a handler may set the header again.
 *
 * @example
 *   app.get('/devices', requiresAuth(oidc), (_req, res) => res.json(res.locals.account))
 *
 * @param oidc the result of `registerOidc`
 */
export function requiresAuth(oidc: Pick<Oidc, 'account' | 'loginUrl'>): Middleware {
  return (req, res, next) => {
    const answer = (account: Account | undefined) => {
      res.setHeader('Cache-Control', 'no-store')
      if (account) {
        const { locals } = res as Response
        locals.account = account
        return next()
      }
      const loginUrl = opensPage(req) ? oidc.loginUrl(req) : undefined
      if (loginUrl === undefined) {
        res.statusCode = 401
        res.setHeader('Content-Type', 'text/plain; charset=utf-8')
        res.end('Sign in first.')
      } else {
        res.statusCode = 302
        res.setHeader('Location', loginUrl)
        res.end()
      }
    }
    // The server may have answered meanwhile, for example after a time limit. Then `setHeader` throws.
    oidc.account(req).then(answer).catch(next)
  }
}

/** Whether a browser opens a page. For images, scripts and `fetch`, browsers do not accept HTML by name. */
function opensPage({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && /\btext\/html\b/.test(headers.accept ?? '')
}
