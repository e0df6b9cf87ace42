import type { Request, Response } from 'express'
import { LoginError } from '../../errors.ts'
import { logFailure } from '../../host/auth-log.ts'
import type { Host } from '../../host/port.ts'
import { queryOf } from '../answer.ts'
import type { RouteDeps, Strategy } from '../strategy.ts'

/**
 * `GET auth-oidc-frontchannel-logout`: a frame on the IdP's page says that a session there is over. No cookie arrives
 * in it, so the session is found by `iss` and `sid` on the server; without both, it is that of a cookie which did
 * arrive. Source: OpenID Connect Front-Channel Logout 1.0, section 2.
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
    const hasEnded = await (sid === null ? endOwn(host, domainKey, req, res) : endOf(host, domainKey, issuer, sid, req))
    if (hasEnded) {
      host.authLog({
        level: 'info',
        event: 'frontchannel-logout',
        message: 'The IdP ended a session, by a frame in the browser.',
        domain: domainKey,
        fields: {},
      })
    }
    // Hosts keep their own pages out of frames.
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

/** @returns null: neither of the two is there. @throws LoginError `logout_token_invalid` */
function sidIn(req: Request, issuer: string): string | null {
  const parameters = new URLSearchParams(queryOf(req.originalUrl))
  const [issuers, sids] = [parameters.getAll('iss'), parameters.getAll('sid')]
  if (issuers.length === 0 && sids.length === 0) return null
  const [sid = ''] = sids
  if (issuers.length === 1 && sids.length === 1 && issuers[0] === issuer && sid !== '') return sid
  throw new LoginError('logout_token_invalid', {
    details: { reason: 'not one iss, that of this domain, and one sid' },
    remedy:
      'A front-channel logout ended nothing. Check that the IdP sends `iss` and `sid` (session required), and to the address of this domain. If nobody logged out there, somebody is trying doors.',
  })
}

/** What is remembered of an end takes room, and anybody may ask: so nothing is, of sessions that nobody has. */
async function endOf({ sessions }: Host, domainKey: string, issuer: string, sid: string, req: Request) {
  const those = { domainKey, issuer, subject: null, sid }
  if (!(await sessions.knows?.(req, those))) return false
  await sessions.endMatching(req, those)
  return true
}

async function endOwn({ sessions }: Host, domainKey: string, req: Request, res: Response): Promise<boolean> {
  if ((await sessions.current(req))?.domainKey !== domainKey) return false
  await sessions.end(req, res)
  return true
}
