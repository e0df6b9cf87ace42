import type { Clock } from '../clock.ts'
import type { CustomSettings, DomainSettings } from '../config/settings.ts'
import { isKnownByAddress } from '../login/profile.ts'
import { openPreset, type PresetUrls } from '../presets/all.ts'
import type { Preset } from '../presets/preset.ts'
import { ClientSecret, type SecretSource, withCurrentSecret } from '../provider/authentication/client-secret.ts'
import { createProviderClient, type ProviderClient } from '../provider/client.ts'
import { directFetch } from '../provider/http/direct-fetch.ts'
import type { Fetch } from '../provider/http/limited-fetch.ts'
import { type DiscoveryDeps, type Issuer, openIssuer } from '../provider/issuer/discovery.ts'
import { createKeySet, type KeySet } from '../provider/issuer/key-set.ts'

/** Outgoing requests: in all for one answer, and of its decoded body. */
export const FETCH_LIMITS = { totalMs: 10_000, maxBytes: 1_000_000 }

export interface ProviderDeps extends Pick<DiscoveryDeps, 'documents' | 'onFailure' | 'onDiscovered'> {
  /** Limited; asks the IdP. */
  readonly idpFetch: Fetch
  /** Limited; asks the APIs of vendors, which are shown no certificate. */
  readonly fetch: Fetch
  readonly presets: PresetUrls
  /** Whether the server keeps the tokens of sessions, and renews them. Default false. */
  readonly keepsTokens?: boolean
  /** Told once of each address that takes client assertions of another audience than was tried first. */
  readonly onAudience: (address: string, audience: 'issuer' | 'address') => void
  /** Without it, a client secret in a file is the one that was read with the configuration. */
  readonly secretSource?: SecretSource
  readonly clock: Clock
}

/** One domain's identity provider, and this server as its client there. */
export interface Provider {
  /** With the client secret of the moment. */
  readonly settings: DomainSettings
  /** Null: the client secret stands in the configuration. */
  readonly secret: ClientSecret | null
  readonly issuer: Issuer
  readonly keySet: KeySet
  readonly preset: Preset
  /** Made when it is first asked for: most of 1,000 domains have no login for long after a start. */
  readonly client: ProviderClient
  /** The same IdP with this server as another client. */
  readonly clientOf: (settings: DomainSettings) => ProviderClient
  close(): void
}

/** What asks the IdP of a domain: with the client certificate, where there is one. */
export function idpFetchOf({ credentials: { certificate } }: DomainSettings, fetch: Fetch, clock: Clock): Fetch {
  return certificate ? directFetch(FETCH_LIMITS, clock, certificate) : fetch
}

/** Begins to discover the IdP in the background, and never rejects. */
export function openProvider(configured: DomainSettings, deps: ProviderDeps): Provider {
  const secret = secretInFile(configured, deps)
  const settings = secret ? withCurrentSecret(configured, secret) : configured
  const { idpFetch, fetch, presets, clock, documents, onFailure, onDiscovered, keepsTokens = false } = deps
  const discovery = { fetch: idpFetch, documents, clock, random: Math.random, onFailure, onDiscovered }
  const issuer = openIssuer(settings.issuer, discovery)
  const preset = openPreset(settings.custom.preset, presets, { fetch, clock })
  const keySet = createKeySet({ fetch: idpFetch, clock })
  const renewalScopes = keepsTokens && preset.renewalScope ? [preset.renewalScope] : []
  const clientOf = (own: DomainSettings) => {
    const groupsClaim = settings.groups ? preset.groupsClaim(settings) : null
    return createProviderClient(own, {
      issuer,
      keySet,
      fetch: idpFetch,
      scopes: [...new Set([...settings.custom.scope, ...preset.scopes(settings), ...renewalScopes])],
      claims: claimsRead(settings.custom.claims, groupsClaim),
      onAudience: deps.onAudience,
      secret: own === settings ? secret : null,
      now: () => clock.now(),
      clock,
    })
  }
  // One that has a key to make begins with that at once, so that no login waits for it.
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

/** What a login looks for in the ID token before it asks for more. */
function claimsRead(names: CustomSettings['claims'], groups: string | null): readonly string[] {
  return [
    ...Object.values(names),
    // It speaks of that claim alone, and denies an address that people are known by.
    ...(names.email === 'email' || isKnownByAddress(names) ? ['email_verified'] : []),
    ...(groups === null ? [] : [groups]),
  ]
}
