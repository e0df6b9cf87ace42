import type { Clock } from '../clock.ts'
import type { DomainSettings } from '../config/settings.ts'
import type { Transaction } from '../login/transaction/transaction.ts'
import { createRedeem, type Redeem } from './answers/redeem.ts'
import { type OpenedAnswer, openAnswer } from './answers/signed-answer.ts'
import { createAssertionAudiences } from './authentication/assertion-audience.ts'
import type { ClientSecret } from './authentication/client-secret.ts'
import { isShared } from './authentication/client-signature.ts'
import { createDpopKey } from './authentication/dpop.ts'
import { type AuthorizationDeps, authorizationUrl, type RequestHints } from './authorization/request.ts'
import { ClientConfigurations } from './client-configuration.ts'
import type { Issuer } from './issuer/discovery.ts'
import type { KeySet } from './issuer/key-set.ts'
import { idpSignatures } from './protection/id-token-signature.ts'
import { createCodeTrial, type OfferMadeUpCode } from './tokens/made-up-code.ts'
import { createRenewal, type Renew } from './tokens/renewal.ts'
import { type TokenVerbs, tokenVerbs } from './tokens/token-status.ts'

/** The OpenID Connect client of one domain. Every method throws LoginError only. */
export interface ProviderClient extends TokenVerbs {
  /**
   * Builds the IdP's address to which a login redirects the browser.
   *
   * @param hints parameters of this request only
   */
  authorizationUrl(transaction: Transaction, hints?: RequestHints): Promise<URL>
  /** Returns the issuer in the exact spelling that the IdP publishes. */
  issuerName(): Promise<string>
  /** Decrypts the authorization response that the browser sent, and reads its state. {@link redeem} verifies it. */
  openAnswer(parameters: URLSearchParams): Promise<OpenedAnswer>
  readonly redeem: Redeem
  readonly renew: Renew
  readonly offerMadeUpCode: OfferMadeUpCode
  close(): void
}

export interface ClientDeps extends AuthorizationDeps {
  readonly clock: Clock
  readonly issuer: Issuer
  readonly keySet: KeySet
  /** The client secret, if it is read from a file, as in `settings.client.client_secret`. Otherwise null. */
  readonly secret: ClientSecret | null
  /** The claims that a login reads. If the ID token has all of them, UserInfo is not requested. */
  readonly claims: readonly string[]
  /**
   * Called when an endpoint refuses a client assertion with the first audience and accepts it with the second. Called
   * once for each address of an endpoint.
   */
  readonly onAudience: (address: string, audience: 'issuer' | 'address') => void
}

export function createProviderClient(settings: DomainSettings, deps: ClientDeps): ProviderClient {
  const { client } = settings
  const { issuer, keySet, secret, fetch, scopes, claims, clock, now } = deps
  const dpop = client.dpop_bound_access_tokens ? createDpopKey() : null
  const signatures = idpSignatures(settings, keySet, secret)
  const audiences = createAssertionAudiences(client.assertion_audience, deps.onAudience)
  const configurations = new ClientConfigurations(settings, { fetch, keySet, audiences, secret, now })
  const tokenConfiguration = async () => configurations.create(await issuer.metadata())
  const redeem = createRedeem(settings, {
    issuer,
    keySet,
    signatures,
    scopes,
    claims,
    now,
    dpop,
    newConfiguration: (metadata, token) => configurations.create(metadata, 'token', token),
    sharedConfiguration: (metadata) => configurations.shared(metadata),
  })
  const { introspect, revoke } = tokenVerbs(settings, async (endpoint) =>
    configurations.create(await issuer.metadata(), endpoint),
  )
  return {
    async authorizationUrl(transaction, hints = {}) {
      // Reload the secret that signs the request, because the IdP would show a refusal only to the browser.
      if (isShared(client.request_object_signing_alg)) secret?.reload()
      const metadata = await issuer.metadata()
      const config = configurations.shared(metadata)
      return authorizationUrl(transaction, hints, { metadata, config, dpop }, settings, { fetch, scopes, now })
    },
    issuerName: async () => (await issuer.metadata()).issuer,
    openAnswer: (parameters) => openAnswer(parameters, settings),
    redeem,
    renew: createRenewal({
      clientId: client.client_id,
      clock,
      dpop,
      newConfiguration: tokenConfiguration,
      signatures,
    }),
    offerMadeUpCode: createCodeTrial(client, { dpop, newConfiguration: tokenConfiguration }),
    introspect,
    revoke,
    close() {
      keySet.close()
      issuer.close()
    },
  }
}
