import { type Clock, isLate } from '../../clock.ts'
import { LoginError } from '../../errors.ts'
import type { Tokens } from '../../host/port.ts'
import type { ProviderClient } from '../../provider/client.ts'
import { gotNoAnswer } from '../../provider/faults/unanswered.ts'
import type { TokenKind } from '../../provider/tokens/token-status.ts'

/** The user waits for the revocation. */
const LIMIT_MS = 2_000

/** The outcome of revoking a session's tokens at the IdP. */
export interface Revocation {
  /** Undefined: nothing failed. */
  readonly failure: unknown
  /** No request was answered: the IdP cannot be reached, or was too slow. */
  readonly isUnreachable: boolean
}

/**
 * Revokes the tokens of a session, if the IdP has an endpoint for that. Waits up to 2 s; slower requests continue in
 * the background, within the limits of every request. Never rejects.
 *
 * @param endsAtIdp whether the browser goes on to the IdP's end-session endpoint. The refresh token then stays, unless
 *   it was granted for offline use. Many IdPs end their session with its refresh token, and would then have no session
 *   left to end, nor would an IdP behind them.
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

/** Ignores an IdP that revokes only refresh tokens. Source: RFC 7009, section 2.2.1. */
function unlessUnsupported(error: unknown): unknown {
  return error instanceof LoginError && error.details.error === 'unsupported_token_type' ? undefined : error
}
