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

/**
 * Time limit for a renewal, in milliseconds. It is shorter than a session's lease, so that no other process renews
 * meanwhile.
 */
const LIMIT_MS = 8_000

export interface RenewalDeps {
  readonly clientId: string
  readonly clock: Clock
  /** The key that access tokens are bound to (DPoP). Null if they are not bound to a key. */
  readonly dpop: DpopKey | null
  /**
   * Returns a configuration that authenticates this server at the token endpoint. The renewal changes it, so it must
   * not be shared.
   */
  readonly newConfiguration: () => Promise<oidc.Configuration>
  readonly signatures: IdpSignatures
}

export type Renewable = Pick<SignIn, 'subject' | 'idToken'>

export interface Renewed extends SessionTokens {
  readonly tokens: Tokens
  /**
   * Verified claims of the new ID token. Null if the IdP sent none, or if the keys to verify it could not be loaded.
   */
  readonly claims: Claims | null
}

/**
 * Renews the tokens of a session (RFC 6749, section 6). This shows whether it is alive, and tells the IdP that it is in
 * use. Keeps the ID token if the IdP sends none, or if its keys cannot be loaded.
 *
 * @throws LoginError `token_request_failed`, `provider_unreachable`, `id_token_invalid`
 */
export type Renew = (tokens: Tokens, refresh: string, session: Renewable) => Promise<Renewed>

export function createRenewal({ clientId, clock, dpop, newConfiguration, signatures }: RenewalDeps): Renew {
  /**
   * Verifies a renewed ID token.
   *
   * @throws LoginError `id_token_invalid`
   */
  async function verify(
    idToken: string,
    metadata: oidc.ServerMetadata,
    session: Renewable,
  ): Promise<Pick<Renewed, 'idToken' | 'claims'>> {
    try {
      await signatures.verifyIdToken(idToken, metadata)
    } catch (error) {
      if (error instanceof LoginError && error.code === 'id_token_invalid') throw error
      // Keep the new tokens even if the keys to verify the new ID token are unavailable. The previous refresh token may
      // be used up.
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
      // Remove the ID token from the answer before the library sees it. If the library refused the ID token, the new
      // refresh token in the same answer would be lost.
      const { id_token: renewedIdToken, ...answer } = (await response.json()) as Readonly<Record<string, unknown>>
      if (typeof renewedIdToken === 'string') idToken = renewedIdToken
      return Response.json(answer, { headers: response.headers })
    }
    const fresh = await oidc
      .refreshTokenGrant(config, refresh, {}, await proofFor(dpop, config))
      .catch((error: unknown) => {
        throw translateTokenFault(error, 'token_request_failed')
      })
      .finally(clear)
    const lifetimeS = fresh.expiresIn()
    return {
      tokens: {
        ...tokens,
        access: fresh.access_token,
        accessExpiresAt: lifetimeS === undefined ? null : clock.now() + lifetimeS * 1000,
        refresh: fresh.refresh_token ?? refresh,
      },
      ...(idToken === undefined
        ? { idToken: session.idToken, claims: null }
        : await verify(idToken, config.serverMetadata(), session)),
    }
  }
}
