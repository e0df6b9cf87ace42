import { type Clock, isLate } from '../../clock.ts'
import { LoginError } from '../../errors.ts'
import type { Tokens } from '../../host/port.ts'
import type { ProviderClient } from '../../provider/client.ts'
import { gotNoAnswer } from '../../provider/faults/unanswered.ts'
import type { TokenKind } from '../../provider/tokens/token-status.ts'

/** A person waits for this. */
const LIMIT_MS = 2_000

/** What became of the tokens of a session at the IdP. */
export interface Revocation {
  /** Undefined: nothing failed. */
  readonly failure: unknown
  /** No request was answered: the IdP cannot be reached, or not in time. */
  readonly isAway: boolean
}

/**
 * Makes tokens of a session worthless at the IdP, where it has an endpoint for that. What has not come about after 2 s
 * goes on by itself, within the limits of every request. Never rejects.
 *
 * @param endsAtIdp whether the browser goes on to the IdP's end-session endpoint: many take their session away with its
 *   refresh token, and then there is none to be ended there, nor further on at an IdP behind it. One that was granted
 *   for offline use outlives it.
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
  const late = await isLate(clock, Promise.all(requests), LIMIT_MS)
  const details = { endpoint: 'revocation_endpoint', causeCode: 'TIMEOUT' }
  const failures = [
    ...outcomes.filter((failure) => failure !== undefined),
    ...(late ? [new LoginError('provider_unreachable', { details })] : []),
  ]
  return {
    failure: failures[0],
    isAway: failures.length > 0 && outcomes.every((failure) => failure !== undefined && gotNoAnswer(failure)),
  }
}

/** Many an IdP revokes refresh tokens alone, and says so. Source: RFC 7009, section 2.2.1. */
function unlessUnsupported(error: unknown): unknown {
  return error instanceof LoginError && error.details.error === 'unsupported_token_type' ? undefined : error
}
