import { LoginError } from '../errors.ts'
import type { Tokens } from '../host/port.ts'
import type { ProviderClient } from '../provider/client.ts'
import type { TokenKind } from '../provider/tokens/token-status.ts'

/** A person waits for this. */
const LIMIT_MS = 2_000

/**
 * Makes the tokens of a session worthless at the IdP, where it has an endpoint for that. What has not come about after 2 s goes on by
 * itself, within the limits of every request.
 *
 * @param now milliseconds since 1970
 * @throws LoginError
 */
export async function revokeTokens(
  client: Pick<ProviderClient, 'revoke'>,
  { access, accessExpiresAt, refresh }: Tokens,
  now: number,
): Promise<void> {
  const revoke = (token: string, kind: TokenKind) => client.revoke(token, kind).catch(unlessUnsupported)
  const requests = [
    ...(refresh === null ? [] : [revoke(refresh, 'refresh_token')]),
    ...(accessExpiresAt !== null && accessExpiresAt <= now ? [] : [revoke(access, 'access_token')]),
  ]
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    const details = { endpoint: 'revocation_endpoint', causeCode: 'TIMEOUT' }
    timer = setTimeout(() => reject(new LoginError('provider_unreachable', { details })), LIMIT_MS)
  })
  try {
    await Promise.race([Promise.all(requests), late])
  } finally {
    clearTimeout(timer)
  }
}

/** Many an IdP revokes refresh tokens alone, and says so. Source: RFC 7009, section 2.2.1. */
function unlessUnsupported(error: unknown): void {
  if (!(error instanceof LoginError && error.details.error === 'unsupported_token_type')) throw error
}
