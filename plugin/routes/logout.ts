import type { Request, Response } from 'express'
import { LoginError } from '../errors.ts'
import { logFailure } from './failure.ts'
import type { RouteDeps, Strategy } from './strategy.ts'

/**
 * `GET` and `POST logout`: ends the session here whatever happens, then at the IdP (OpenID Connect RP-Initiated Logout 1.0), whose
 * page sends the browser back.
 */
export async function logout(strategy: Strategy, { host }: RouteDeps, req: Request, res: Response): Promise<void> {
  const { login } = strategy.paths
  const session = host.sessions.current(req)
  try {
    await host.sessions.end(req, res)
  } catch (error) {
    logFailure(host, req, strategy.domainKey, 'logout-failed', new LoginError('host_failed', { cause: error }))
    res.status(500).type('text/plain').send('Signing out did not work. Close the browser to be safe, and try again.')
    return
  }
  if (!session || !strategy.working) {
    res.redirect(302, login)
    return
  }
  try {
    const url = await strategy.working.client.endSessionUrl(
      session.domainKey === strategy.domainKey ? session.idToken : null,
    )
    res.redirect(302, url.href)
  } catch (error) {
    // Signed out here; the IdP cannot be told. The person sees the login page, the administrator reads why.
    const fault = error instanceof LoginError ? error : new LoginError('internal', { cause: error })
    logFailure(host, req, strategy.domainKey, 'logout-incomplete', fault)
    res.redirect(302, login)
  }
}
