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
 * How long a logout waits for the IdP's keys if recent keys are at hand. A request may have to wait a second for the
 * one before it, and then gets a second for its answer. An IdP that answers with a failure at once is not late.
 */
const KEY_LIMIT_MS = 2_000
/** How old keys at hand may be. */
const MAX_KEY_AGE_MS = 24 * 60 * 60_000

/** The back-channel logout tokens of one domain's IdP. */
export interface LogoutTokens {
  /**
   * Checks a token and passes its content to `act`, once. If `act` rejects, the IdP may send the token again, as IdPs
   * do.
   *
   * @throws LoginError `logout_token_invalid`, or an error that prevents the check; and the errors of `act`
   */
  redeem<Result>(token: string, act: (logout: Logout) => Promise<Result>): Promise<Result>
}

export interface LogoutTokenDeps {
  readonly issuer: Issuer
  readonly keySet: KeySet
  /** Null: the configuration contains the secret itself. Otherwise the settings return the current one. */
  readonly secret: ClientSecret | null
  readonly clock: Clock
  /** Shared by all processes that receive tokens. Undefined: there is only one. */
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
    const { issuer, jwks_uri: address } = await deps.issuer.metadata()
    if (logout.issuer !== issuer) throw refusal(objectionToIssuer(logout.issuer, issuer))
    if (isShared(rules.algorithm)) {
      const verifyWithCurrent = () => verifySharedSignature(token, settings)
      return (deps.secret ? deps.secret.withRetry(verifyWithCurrent) : verifyWithCurrent()).catch(refuse)
    }
    if (address === undefined) throw new LoginError('metadata_incomplete', { details: { endpoint: 'jwks_uri' } })
    const keys = loadKeys(address, token)
    const older = deps.keySet.atHand(address, MAX_KEY_AGE_MS)
    if (older && (await isLate(clock, keys, KEY_LIMIT_MS)) && (await isSignedWith(token, older))) return
    await verifySignature(token, (await keys).find, rules.algorithm).catch(refuse)
  }

  function loadKeys(address: string, token: string): Promise<PublishedKeys> {
    const keys = deps.keySet.current(address, keyIdOf(token)).catch((error: unknown) => {
      // The token may be genuine even if the published keys are unusable, so the IdP must be able to send it again.
      const details = error instanceof LoginError ? error.details : { endpoint: 'jwks_uri' }
      throw new LoginError('provider_unreachable', { cause: error, details })
    })
    // If the logout no longer awaits the keys, their failure must not stay unhandled.
    keys.catch(() => undefined)
    return keys
  }

  /**
   * An IdP with a single worker waits for the answer to its logout token before it serves its keys. So recent keys
   * suffice if the IdP does not serve them in time. A key that was withdrawn meanwhile counts too. That is acceptable:
   * a thief of such a key can sign users out for at most a day, while the IdP does not answer, but can sign nobody in.
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
      // Refuses a used token before the IdP is asked for its keys.
      used.assertUnused(logout)
      await verify(token, logout)
      return used.use(logout, () => act(logout))
    },
  }
}

/** Translates refusals of ID tokens. Logout tokens follow the same rules; only the code in the log differs. */
function refuse(error: unknown): never {
  const isOurs = error instanceof LoginError && error.code === 'id_token_invalid'
  throw isOurs ? refusal(String(error.details.reason), error.cause) : error
}

function refusal(reason: string, cause?: unknown): LoginError {
  return new LoginError('logout_token_invalid', { details: { reason }, ...(cause === undefined ? {} : { cause }) })
}
