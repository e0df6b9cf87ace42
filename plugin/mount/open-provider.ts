import type { Clock } from '../clock.ts'
import type { CustomSettings, DomainSettings } from '../config/settings.ts'
import { isKnownByAddress } from '../login/profile.ts'
import type { Preset } from '../presets/preset.ts'
import { openPreset, type PresetUrls } from '../presets/presets.ts'
import { ClientSecret, type SecretSource, withCurrentSecret } from '../provider/authentication/client-secret.ts'
import { createProviderClient, type ProviderClient } from '../provider/client.ts'
import { directFetch } from '../provider/http/direct-fetch.ts'
import type { Fetch } from '../provider/http/limited-fetch.ts'
import { type DiscoveryDeps, type Issuer, openIssuer } from '../provider/issuer/discovery.ts'
import { createKeySet, type KeySet } from '../provider/issuer/key-set.ts'

/**
 * Limits of outgoing requests: the time for the whole answer in milliseconds, and the size of its decoded body in
 * bytes.
 */
export const FETCH_LIMITS = { totalMs: 10_000, maxBytes: 1_000_000 }

export interface ProviderDeps extends Pick<DiscoveryDeps, 'documents' | 'onFailure' | 'onDiscovered'> {
  /** A `fetch` with time and size limits, for requests to the IdP. */
  readonly idpFetch: Fetch
  /** A `fetch` with time and size limits, for requests to vendors' APIs. It presents no client certificate. */
  readonly fetch: Fetch
  readonly presets: PresetUrls
  /** Whether the server stores the tokens of sessions and renews them. Default: false. */
  readonly keepsTokens?: boolean
  /**
   * Called when an endpoint refuses a client assertion with the first audience and accepts it with the second. Called
   * once for each address of an endpoint.
   */
  readonly onAudience: (address: string, audience: 'issuer' | 'address') => void
  /** Reads the client secret from its file again. If undefined, the secret that was read at the start stays in use. */
  readonly secretSource?: SecretSource
  readonly clock: Clock
}

/** One domain's IdP, and the OpenID Connect client that this server uses there. */
export interface Provider {
  /**
   * The settings. If the client secret is in a file, `settings.client.client_secret` always returns the current secret.
   */
  readonly settings: DomainSettings
  /** The client secret, if it is read from a file. Null if the configuration contains the secret itself. */
  readonly secret: ClientSecret | null
  readonly issuer: Issuer
  readonly keySet: KeySet
  readonly preset: Preset
  /**
   * The client. It is created when this member is first read, because most of 1,000 domains have no login for a long
   * time after a start.
   */
  readonly client: ProviderClient
  /** Creates a client with other settings for the same IdP. */
  readonly clientOf: (settings: DomainSettings) => ProviderClient
  close(): void
}

/** Returns the `fetch` for requests to a domain's IdP. It presents the client certificate, if there is one. */
export function idpFetchOf({ credentials: { certificate } }: DomainSettings, fetch: Fetch, clock: Clock): Fetch {
  return certificate ? directFetch(FETCH_LIMITS, clock, certificate) : fetch
}

/**
 * Creates the {@link Provider} of a domain. Discovery starts in the background and reports its errors to `onFailure`.
 */
export function openProvider(configured: DomainSettings, deps: ProviderDeps): Provider {
  const secret = secretInFile(configured, deps)
  const settings = secret ? withCurrentSecret(configured, secret) : configured
  const { idpFetch, fetch, presets, clock, documents, onFailure, onDiscovered, keepsTokens = false } = deps
  const discovery = { fetch: idpFetch, documents, clock, random: Math.random, onFailure, onDiscovered }
  const issuer = openIssuer(settings.issuer, discovery)
  const preset = openPreset(settings.custom.preset, presets, { fetch, clock })
  const keySet = createKeySet({ fetch: idpFetch, clock })
  const renewalScopes = keepsTokens && preset.renewalScope ? [preset.renewalScope] : []
  const clientOf = (clientSettings: DomainSettings) => {
    const groupsClaim = settings.groups ? preset.groupsClaim(settings) : null
    return createProviderClient(clientSettings, {
      issuer,
      keySet,
      fetch: idpFetch,
      scopes: [...new Set([...settings.custom.scope, ...preset.scopes(settings), ...renewalScopes])],
      claims: claimsRead(settings.custom.claims, groupsClaim),
      onAudience: deps.onAudience,
      secret: clientSettings === settings ? secret : null,
      now: () => clock.now(),
      clock,
    })
  }
  // If access tokens are bound to a key, create the client now, so that no login waits for the key.
  let client = settings.client.dpop_bound_access_tokens ? clientOf(settings) : undefined
  return {
    settings,
    secret,
    issuer,
    keySet,
    preset,
    get client() {
      client ??= clientOf(settings)
      return client
    },
    clientOf,
    close() {
      keySet.close()
      issuer.close()
    },
  }
}

function secretInFile({ client }: DomainSettings, { secretSource, clock }: ProviderDeps): ClientSecret | null {
  const { client_secret: secret, client_secret_file: file } = client
  if (file === undefined || secret === null || !secretSource) return null
  return new ClientSecret(file, secret, secretSource, () => clock.now())
}

/** Returns the claims that a login reads. If the ID token has all of them, UserInfo is not requested. */
function claimsRead(names: CustomSettings['claims'], groups: string | null): readonly string[] {
  return [
    ...Object.values(names),
    // `email_verified` applies only to the claim `email`. It also decides whether an e-mail address may be the user's
    // id.
    ...(names.email === 'email' || isKnownByAddress(names) ? ['email_verified'] : []),
    ...(groups === null ? [] : [groups]),
  ]
}
