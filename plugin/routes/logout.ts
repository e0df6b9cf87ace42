import type { Request, Response } from 'express'
import { LoginError } from '../errors.ts'
import type { SignIn } from '../host/port.ts'
import { logFailure } from './failure.ts'
import { revokeTokens } from './revoke-tokens.ts'
import type { RouteDeps, Strategy, WorkingStrategy } from './strategy.ts'

/**
 * `GET` and `POST logout`: ends the session here whatever happens, then at the IdP (OpenID Connect RP-Initiated Logout 1.0), whose
 * page sends the browser back. Tokens of the session are revoked where the IdP can.
 */
export async function logout(strategy: Strategy, { host }: RouteDeps, req: Request, res: Response): Promise<void> {
  const { domainKey, working } = strategy
  const { login } = strategy.paths
  const report = (event: 'logout-failed' | 'logout-incomplete', error: unknown) =>
    logFailure(
      host,
      req,
      domainKey,
      event,
      error instanceof LoginError ? error : new LoginError('internal', { cause: error }),
    )

  const session = await host.sessions.current(req).catch((error: unknown) => {
    report('logout-incomplete', new LoginError('host_failed', { cause: error }))
    return undefined
  })
  try {
    await host.sessions.end(req, res)
  } catch (error) {
    report('logout-failed', new LoginError('host_failed', { cause: error }))
    res.status(500).type('text/plain').send('Signing out did not work. Close the browser to be safe, and try again.')
    return
  }
  if (!session || !working) {
    res.redirect(302, login)
    return
  }
  // What one IdP gave is nothing that another one's domain may hand on.
  const own = session.domainKey === domainKey ? session : null
  const [address] = await Promise.all([
    endSessionAddress(own, working).catch((error: unknown) => {
      // Signed out here; the IdP cannot be told. The person sees the login page, the administrator reads why.
      report('logout-incomplete', error)
      return login
    }),
    own?.tokens
      ? revokeTokens(working.client, own.tokens, Date.now()).catch((error: unknown) =>
          report('logout-incomplete', error),
        )
      : undefined,
  ])
  res.redirect(302, address)
}

async function endSessionAddress(session: SignIn | null, { client }: WorkingStrategy): Promise<string> {
  return (await client.endSessionUrl(session)).href
}
