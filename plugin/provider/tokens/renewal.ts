import { decodeJwt } from 'jose'
import * as oidc from 'openid-client'
import { type Clock, deadlineSignal } from '../../clock.ts'
import { LoginError } from '../../errors.ts'
import type { SessionTokens, SignIn, Tokens } from '../../host/port.ts'
import type { Claims } from '../../login/profile.ts'
import { type DpopKey, proofFor } from '../authentication/dpop.ts'
import { translateTokenFault } from '../faults.ts'
import type { IdpSignatures } from '../protection/id-token-signature.ts'
import { objectionToRenewed } from './id-token-rules.ts'

/** Less than a process has for it: an answer that comes later would meet the renewal of another one. */
const LIMIT_MS = 8_000

export interface RenewalDeps {
  readonly clientId: string
  readonly clock: Clock
  /** Null: access tokens are bound to no key. */
  readonly dpop: DpopKey | null
  /** With this server's way to authenticate at the token endpoint, and used for nothing else. */
  readonly newConfiguration: () => Promise<oidc.Configuration>
  readonly signatures: IdpSignatures
}

export type Renewable = Pick<SignIn, 'subject' | 'idToken'>

export interface Renewed extends SessionTokens {
  readonly tokens: Tokens
  /** Those of the new ID token, verified. Null: there was none, or its keys could not be had. */
  readonly claims: Claims | null
}

/**
 * New tokens for those of a session (RFC 6749, section 6). It says whether the session lives at the IdP, and to the IdP
 * that it is in use. The ID token is the one before where the IdP gave none, or its keys could not be had.
 *
 * @param session whose tokens they are
 * @throws LoginError `token_request_failed`, `provider_unreachable`, `id_token_invalid`
 */
export type Renew = (tokens: Tokens, refresh: string, session: Renewable) => Promise<Renewed>

export function createRenewal({ clientId, clock, dpop, newConfiguration, signatures }: RenewalDeps): Renew {
  /** @throws LoginError `id_token_invalid` */
  async function verify(
    idToken: string,
    metadata: oidc.ServerMetadata,
    session: Renewable,
  ): Promise<Pick<Renewed, 'idToken' | 'claims'>> {
    try {
      await signatures.verifyIdToken(idToken, metadata)
    } catch (error) {
      if (error instanceof LoginError && error.code === 'id_token_invalid') throw error
      // Tokens are not lost for keys that cannot be had at the moment: the one before may be used up.
      return { idToken: session.idToken, claims: null }
    }
    const first = session.idToken === null ? undefined : decodeJwt(session.idToken)
    const expected = { iss: metadata.issuer, sub: session.subject, aud: first?.aud ?? clientId }
    const claims = decodeJwt(idToken)
    const reason = objectionToRenewed(claims, expected)
    if (reason) throw new LoginError('id_token_invalid', { details: { reason } })
    return { idToken, claims }
  }

  return async (tokens, refresh, session) => {
    const config = await newConfiguration()
    let idToken: string | undefined
    const { signal, clear } = deadlineSignal(clock, LIMIT_MS)
    const inner = config[oidc.customFetch] as oidc.CustomFetch
    config[oidc.customFetch] = async (url, init) => {
      const response = await inner(url, { ...init, signal })
      if (response.status !== 200) return response
      // Taken out: an objection of the library to it would lose the tokens beside it.
      const { id_token: taken, ...answer } = (await response.json()) as Readonly<Record<string, unknown>>
      if (typeof taken === 'string') idToken = taken
      return Response.json(answer, { headers: response.headers })
    }
    const fresh = await oidc
      .refreshTokenGrant(config, refresh, {}, await proofFor(dpop, config))
      .catch((error: unknown) => {
        throw translateTokenFault(error, 'token_request_failed')
      })
      .finally(clear)
    const lifeS = fresh.expiresIn()
    return {
      tokens: {
        ...tokens,
        access: fresh.access_token,
        accessExpiresAt: lifeS === undefined ? null : clock.now() + lifeS * 1000,
        refresh: fresh.refresh_token ?? refresh,
      },
      ...(idToken === undefined
        ? { idToken: session.idToken, claims: null }
        : await verify(idToken, config.serverMetadata(), session)),
    }
  }
}
