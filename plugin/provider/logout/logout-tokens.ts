import { createHash } from 'node:crypto'
import { compactVerify, errors, type JWTVerifyGetKey } from 'jose'
import type { DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import { deepestMessage } from '../../log.ts'
import { isShared } from '../authentication/client-signature.ts'
import type { Issuer } from '../issuer/discovery.ts'
import type { KeySet } from '../issuer/key-set.ts'
import { openIdToken, verifySharedSignature } from '../protection/protected-answers.ts'
import { inspectLogoutToken, type Logout, objectionToIssuer } from './logout-token.ts'

/** Tokens that were redeemed and could come again; the oldest are forgotten first. Each counts for 10 minutes at most. */
const MOST_REDEEMED = 10_000
/** How long keys are not asked for again after they proved nothing. */
const PAUSE_MS = 1_000

/** The back-channel logout tokens of one domain's IdP. */
export interface LogoutTokens {
  /**
   * Checks a token and hands what it says to `act`, once. When `act` rejects, the token may come again: IdPs try more than once.
   *
   * @throws LoginError `logout_token_invalid`, or whatever keeps the token from being checked; and what `act` rejects with
   */
  redeem<Result>(token: string, act: (logout: Logout) => Promise<Result>): Promise<Result>
}

export interface LogoutTokenDeps {
  readonly issuer: Issuer
  readonly keySet: KeySet
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Milliseconds from any point on; never goes back. */
  readonly elapsed: () => number
}

interface IdpKeys {
  readonly issuer: string
  /** Null: the client secret is the key. */
  readonly keys: JWTVerifyGetKey | null
}

interface KeyRequest {
  readonly at: number
  readonly outcome: Promise<IdpKeys>
  /** A token was verified with these keys. */
  proven: boolean
}

export function createLogoutTokens(settings: DomainSettings, deps: LogoutTokenDeps): LogoutTokens {
  const { client } = settings
  const { now, elapsed } = deps
  const rules = {
    issuer: settings.issuer.issuer,
    clientId: client.client_id,
    algorithm: client.id_token_signed_response_alg,
  }
  const redeemed = new Map<string, number>()
  let last: KeyRequest | undefined

  /**
   * The keys as they are now, asked for each time like those of a login. Anybody can send what looks like a token, though: keys that
   * have not verified one yet answer for a second, so that a storm of junk reaches the IdP once a second at most, and a genuine token
   * in its midst is served all the same.
   */
  function requestKeys(): KeyRequest {
    if (last && !last.proven && elapsed() - last.at < PAUSE_MS) return last
    last = { at: elapsed(), outcome: loadKeys(), proven: false }
    return last
  }

  async function loadKeys(): Promise<IdpKeys> {
    const { issuer: name, jwks_uri } = await deps.issuer.metadata()
    if (isShared(rules.algorithm)) return { issuer: name, keys: null }
    if (jwks_uri === undefined) throw new LoginError('metadata_incomplete')
    return { issuer: name, keys: await deps.keySet.current(jwks_uri) }
  }

  async function verify(token: string, logout: Logout): Promise<void> {
    const request = requestKeys()
    const { issuer: name, keys } = await request.outcome
    if (logout.issuer !== name) throw refusal(objectionToIssuer(logout.issuer, name))
    if (keys) await verifySignature(token, keys, rules.algorithm)
    else await verifySharedSignature(token, settings).catch(refuse)
    request.proven = true
  }

  function claim(key: string, until: number): boolean {
    if (redeemed.has(key)) return false
    for (const [oldest, end] of redeemed) {
      if (end > now() && redeemed.size < MOST_REDEEMED) break
      redeemed.delete(oldest)
    }
    redeemed.set(key, until)
    return true
  }

  return {
    async redeem(sent, act) {
      const token = await openIdToken(sent, settings).catch(refuse)
      const logout = inspectLogoutToken(token, rules, now() / 1000)
      if (typeof logout === 'string') throw refusal(logout)
      const key = createHash('sha256').update(logout.jti).digest('base64url')
      // Before the IdP is asked for its keys, and again below, for one that came twice at the same time.
      if (redeemed.has(key)) throw refusal(REPLAYED)
      await verify(token, logout)
      if (!claim(key, logout.refusedFromS * 1000)) throw refusal(REPLAYED)
      try {
        return await act(logout)
      } catch (error) {
        redeemed.delete(key)
        throw error
      }
    },
  }
}

const REPLAYED = 'it was used before'

async function verifySignature(token: string, keys: JWTVerifyGetKey, algorithm: string): Promise<void> {
  const options = { algorithms: [algorithm] }
  try {
    await compactVerify(token, keys, options)
  } catch (error) {
    // Without a `kid` any of several keys may have signed; there are as many as the IdP publishes.
    for await (const key of error instanceof errors.JWKSMultipleMatchingKeys ? error : []) {
      const verified = await compactVerify(token, key, options).then(
        () => true,
        () => false,
      )
      if (verified) return
    }
    throw refusal(deepestMessage(error), error)
  }
}

/** Logout tokens are held to the same as ID tokens; only what the log says differs. */
function refuse(error: unknown): never {
  const isOurs = error instanceof LoginError && error.code === 'id_token_invalid'
  throw isOurs ? refusal(String(error.details.reason), error.cause) : error
}

function refusal(reason: string, cause?: unknown): LoginError {
  return new LoginError('logout_token_invalid', { details: { reason }, ...(cause === undefined ? {} : { cause }) })
}
