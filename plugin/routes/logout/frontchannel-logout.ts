import type { Request, Response } from 'express'
import { LoginError } from '../../errors.ts'
import { logFailure } from '../../host/auth-log.ts'
import type { Host } from '../../host/port.ts'
import { queryOf } from '../answer.ts'
import type { RouteDeps, Strategy } from '../strategy.ts'

/**
 * `GET auth-oidc-frontchannel-logout`: ends a session for the IdP, whose page requests this address in a frame, usually
 * without cookies. So `iss` and `sid` select it. Source: OpenID Connect Front-Channel Logout 1.0, section 2.
 */
export async function frontchannelLogout(
  { domainKey, working }: Strategy,
  { host }: RouteDeps,
  req: Request,
  res: Response,
): Promise<void> {
  try {
    if (!working) throw new LoginError('not_configured')
    const issuer = await working.client.issuerName()
    const sid = sidIn(req, issuer)
    const hasEnded = await (sid === null
      ? endOfBrowser(host, domainKey, req, res)
      : endMatching(host, domainKey, issuer, sid, req))
    if (hasEnded) {
      host.authLog({
        level: 'info',
        event: 'frontchannel-logout',
        message: "The IdP ended a session through a frame in the user's browser.",
        domain: domainKey,
        fields: {},
      })
    }
    // Remove the host's `X-Frame-Options`, because the IdP's logout page requests this address in a frame.
    res.removeHeader('X-Frame-Options')
    res
      .status(200)
      .set('Content-Security-Policy', `default-src 'none'; frame-ancestors ${new URL(issuer).origin}`)
      .type('html')
      .send('<!doctype html>')
  } catch (error) {
    const failure = error instanceof LoginError ? error : new LoginError('host_failed', { cause: error })
    logFailure(host, req, domainKey, 'frontchannel-logout-refused', failure)
    res
      .status(failure.code === 'logout_token_invalid' ? 400 : 503)
      .type('text/plain')
      .send('The session was not ended.')
  }
}

/**
 * Reads the `sid` of the request.
 *
 * @returns null if the request has neither `iss` nor `sid`
 * @throws LoginError `logout_token_invalid`
 */
function sidIn(req: Request, issuer: string): string | null {
  const parameters = new URLSearchParams(queryOf(req.originalUrl))
  const [issuers, sids] = [parameters.getAll('iss'), parameters.getAll('sid')]
  if (issuers.length === 0 && sids.length === 0) return null
  const [sid = ''] = sids
  if (issuers.length === 1 && sids.length === 1 && issuers[0] === issuer && sid !== '') return sid
  throw new LoginError('logout_token_invalid', {
    details: { reason: 'the request must have one `sid`, and one `iss` that is the issuer of this domain' },
    remedy:
      'A front-channel logout ended no session. Check that the IdP sends `iss` and `sid` ("session required"), and uses the address of this domain. If no user logged out there, a stranger may be probing this server.',
  })
}

/**
 * Ends the sessions with this `sid`. If there are none, stores no revocation, because a stranger could fill the store
 * with invented values of `sid`.
 */
async function endMatching({ sessions }: Host, domainKey: string, issuer: string, sid: string, req: Request) {
  const filter = { domainKey, issuer, subject: null, sid }
  if (!(await sessions.knows?.(req, filter))) return false
  await sessions.endMatching(req, filter)
  return true
}

async function endOfBrowser({ sessions }: Host, domainKey: string, req: Request, res: Response): Promise<boolean> {
  if ((await sessions.current(req))?.domainKey !== domainKey) return false
  await sessions.end(req, res)
  return true
}
