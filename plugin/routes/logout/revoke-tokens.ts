import { type Clock, isLate } from '../../clock.ts'
import { LoginError } from '../../errors.ts'
import type { Tokens } from '../../host/port.ts'
import type { ProviderClient } from '../../provider/client.ts'
import { gotNoAnswer } from '../../provider/faults/unanswered.ts'
import type { TokenKind } from '../../provider/tokens/token-status.ts'

/** Time limit for the revocation of tokens at a logout, in milliseconds. The user waits for the revocation. */
const LIMIT_MS = 2_000

/** The outcome of revoking a session's tokens at the IdP. */
export interface Revocation {
  /** The first error of the revocation requests, including a timeout. Undefined if there was none. */
  readonly failure: unknown
  /** Whether every revocation request failed because the IdP cannot be reached or is too slow. */
  readonly isUnreachable: boolean
}

/**
 * Revokes the tokens of a session. Waits up to 2 s; slower requests continue in the background. Never rejects.
 *
 * @param endsAtIdp whether the browser continues to the IdP's end-session endpoint
 */
export async function revokeTokens(
  client: Pick<ProviderClient, 'revoke'>,
  { access, accessExpiresAt, refresh, offline = false }: Tokens,
  endsAtIdp: boolean,
  clock: Clock,
): Promise<Revocation> {
  const outcomes: unknown[] = []
  const revoke = async (token: string, kind: TokenKind) => {
    outcomes.push(await client.revoke(token, kind).then(() => undefined, unlessUnsupported))
  }
  // Many IdPs end a session with its refresh token. The end-session endpoint would then not sign the user out of a
  // second IdP that the first one uses.
  const requests = [
    ...(refresh === null || (endsAtIdp && !offline) ? [] : [revoke(refresh, 'refresh_token')]),
    ...(accessExpiresAt !== null && accessExpiresAt <= clock.now() ? [] : [revoke(access, 'access_token')]),
  ]
  const wasLate = await isLate(clock, Promise.all(requests), LIMIT_MS)
  const details = { endpoint: 'revocation_endpoint', causeCode: 'TIMEOUT' }
  const failures = [
    ...outcomes.filter((failure) => failure !== undefined),
    ...(wasLate ? [new LoginError('provider_unreachable', { details })] : []),
  ]
  return {
    failure: failures[0],
    isUnreachable: failures.length > 0 && outcomes.every((failure) => failure !== undefined && gotNoAnswer(failure)),
  }
}

/** Ignores the error of an IdP that can revoke only refresh tokens. Source: RFC 7009, section 2.2.1. */
function unlessUnsupported(error: unknown): unknown {
  return error instanceof LoginError && error.details.error === 'unsupported_token_type' ? undefined : error
}
