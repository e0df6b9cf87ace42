import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Response } from 'express'
import type { Account } from '../host/port.ts'
import type { Oidc } from './mount-oidc.ts'

/** A middleware with Node's own types, which are compatible with Express 4 and 5. */
export type Middleware = (req: IncomingMessage, res: ServerResponse, next: (error?: unknown) => void) => void

/**
 * Returns a middleware that lets only signed-in users reach the handlers after it. Handlers find the account in
 * `res.locals.account`.
 *
 * If a browser opens a page without a login, it is redirected to the IdP, and afterwards back to the page. Other
 * requests get 401, because scripts cannot follow a redirect to another site, and forms would lose their data. Removed
 * and locked accounts count as not signed in. If a store fails, the server's error handler gets the error.
 *
 * Register it after `session(…)`. It sets `Cache-Control: no-store`, so that no cache shows the response to another
 * user. A later handler may change that.
 *
 * @example app.get('/devices', requiresAuth(oidc), (_req, res) => res.json(res.locals.account))
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
    // Pass errors of `answer` to `next` too. In `answer`, `setHeader` throws if the server has already responded, for
    // example after a time limit.
    oidc.account(req).then(answer).catch(next)
  }
}

/** Whether the browser opens a page. For images, scripts and `fetch`, browsers do not list `text/html` in `Accept`. */
function opensPage({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && /\btext\/html\b/.test(headers.accept ?? '')
}
