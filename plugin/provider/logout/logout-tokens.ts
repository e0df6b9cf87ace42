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
 * How long a logout waits for the IdP's current keys before it accepts stored keys. The request may start a second
 * late, so the IdP has at least one second.
 */
const KEY_LIMIT_MS = 2_000
/** Limit of the age of stored keys that may verify a logout token. */
const MAX_KEY_AGE_MS = 24 * 60 * 60_000

/** Verifies the back-channel logout tokens of one domain's IdP. */
export interface LogoutTokens {
  /**
   * Checks a token and passes its content to `act` once. If `act` rejects, the IdP may send the same token again.
   *
   * @throws LoginError `logout_token_invalid`, or an error that prevents the check; and the errors of `act`
   */
  redeem<Result>(token: string, act: (logout: Logout) => Promise<Result>): Promise<Result>
}

export interface LogoutTokenDeps {
  readonly issuer: Issuer
  readonly keySet: KeySet
  /** The client secret, if it is read from a file, as in `settings.client.client_secret`. Otherwise null. */
  readonly secret: ClientSecret | null
  readonly clock: Clock
  /** The record of used logout tokens that all processes share. Undefined if there is only one process. */
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
      // The logout token may be genuine even if the published keys are unusable. So throw `provider_unreachable`, after
      // which the IdP may send the token again.
      const details = error instanceof LoginError ? error.details : { endpoint: 'jwks_uri' }
      throw new LoginError('provider_unreachable', { cause: error, details })
    })
    // No code awaits the keys after the time limit. Without this handler, Node.js would report an unhandled rejection.
    keys.catch(() => undefined)
    return keys
  }

  /**
   * Whether one of the stored keys signed the token. They suffice if the current keys are late, because an IdP with a
   * single worker serves none until its logout token is answered. A thief of a withdrawn key could then sign users out
   * for at most a day, but not sign in.
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
      // Refuse a used token first, so that a repeated token causes no request for the IdP's keys.
      used.assertUnused(logout)
      await verify(token, logout)
      return used.use(logout, () => act(logout))
    },
  }
}

/**
 * Translates the error of an ID token check into one about a logout token, because both kinds of token follow the same
 * rules.
 */
function refuse(error: unknown): never {
  const isOurs = error instanceof LoginError && error.code === 'id_token_invalid'
  throw isOurs ? refusal(String(error.details.reason), error.cause) : error
}

function refusal(reason: string, cause?: unknown): LoginError {
  return new LoginError('logout_token_invalid', { details: { reason }, ...(cause === undefined ? {} : { cause }) })
}
