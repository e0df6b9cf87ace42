import { type Clock, isLate } from '../../clock.ts'
import type { DomainSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import type { ClientSecret } from '../authentication/client-secret.ts'
import { isShared } from '../authentication/client-signature.ts'
import type { Issuer } from '../issuer/discovery.ts'
import type { KeySet, PublishedKeys } from '../issuer/key-set.ts'
import { keyIdOf } from '../issuer/served-keys.ts'
import { openIdToken, verifySharedSignature } from '../protection/protected-answers.ts'
import { verifySignature } from '../protection/signature.ts'
import { inspectLogoutToken, type Logout, objectionToIssuer } from './logout-token.ts'
import { createUsedTokens, type SharedUse } from './used-tokens.ts'

/**
 * How long the IdP is waited for with its keys, where there are some at hand: a second, after the one at most that a
 * request may have to wait for the one before it. An IdP that answers at once with a failure is none that is late.
 */
const PATIENCE_MS = 2_000
/** How old those may be. */
const AT_HAND_MS = 24 * 60 * 60_000

/** The back-channel logout tokens of one domain's IdP. */
export interface LogoutTokens {
  /**
   * Checks a token and hands what it says to `act`, once. When `act` rejects, the token may come again: IdPs try more
   * than once.
   *
   * @throws LoginError `logout_token_invalid`, or whatever keeps the token from being checked; and what `act` rejects
   *   with
   */
  redeem<Result>(token: string, act: (logout: Logout) => Promise<Result>): Promise<Result>
}

export interface LogoutTokenDeps {
  readonly issuer: Issuer
  readonly keySet: KeySet
  /** Null: the client secret stands in the configuration. Otherwise the settings have its current one. */
  readonly secret: ClientSecret | null
  readonly clock: Clock
  /** Where several processes take tokens: what they share. */
  readonly shared?: SharedUse | undefined
}

export function createLogoutTokens(settings: DomainSettings, deps: LogoutTokenDeps): LogoutTokens {
  const { client } = settings
  const { clock, shared } = deps
  const rules = {
    issuer: settings.issuer.issuer,
    clientId: client.client_id,
    algorithm: client.id_token_signed_response_alg,
  }
  const used = createUsedTokens({ domainKey: settings.key, shared, now: () => clock.now() })

  async function verify(token: string, logout: Logout): Promise<void> {
    const { issuer: name, jwks_uri: address } = await deps.issuer.metadata()
    if (logout.issuer !== name) throw refusal(objectionToIssuer(logout.issuer, name))
    if (isShared(rules.algorithm)) {
      const byCurrent = () => verifySharedSignature(token, settings)
      return (deps.secret ? deps.secret.withRetry(byCurrent) : byCurrent()).catch(refuse)
    }
    if (address === undefined) throw new LoginError('metadata_incomplete', { details: { endpoint: 'jwks_uri' } })
    const asked = loadKeys(address, token)
    const older = deps.keySet.atHand(address, AT_HAND_MS)
    if (older && (await isLate(clock, asked, PATIENCE_MS)) && (await isSignedWith(token, older))) return
    await verifySignature(token, (await asked).find, rules.algorithm).catch(refuse)
  }

  function loadKeys(address: string, token: string): Promise<PublishedKeys> {
    const keys = deps.keySet.current(address, keyIdOf(token)).catch((error: unknown) => {
      // Whatever is published there: the token may be genuine, and is to come again.
      const details = error instanceof LoginError ? error.details : { endpoint: 'jwks_uri' }
      throw new LoginError('provider_unreachable', { cause: error, details })
    })
    // It may fail after nobody waits for it any more.
    keys.catch(() => undefined)
    return keys
  }

  /**
   * An IdP with one worker gives no keys before its logout token is answered, and waits for that. So keys at hand do
   * where it has not given any in that time. One that was withdrawn meanwhile counts then, which is safe enough:
   * whoever has stolen it can sign people out for a day at most, while the IdP does not answer, and lets nobody in.
   */
  async function isSignedWith(token: string, { find }: PublishedKeys): Promise<boolean> {
    return verifySignature(token, find, rules.algorithm).then(
      () => true,
      () => false,
    )
  }

  return {
    async redeem(sent, act) {
      const token = await openIdToken(sent, settings).catch(refuse)
      const logout = inspectLogoutToken(token, rules, clock.now() / 1000)
      if (typeof logout === 'string') throw refusal(logout)
      // Before the IdP is asked for its keys.
      used.assertUnused(logout)
      await verify(token, logout)
      return used.use(logout, () => act(logout))
    },
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
