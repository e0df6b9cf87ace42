import { type Clock, systemClock } from '../clock.ts'
import type { DomainSettings } from '../config/settings.ts'
import { FETCH_LIMITS, idpFetchOf, openProvider } from '../mount/open-provider.ts'
import type { PresetUrls } from '../presets/all.ts'
import { directFetch } from '../provider/http/direct-fetch.ts'
import type { Fetch } from '../provider/http/guarded-fetch.ts'
import { createDocuments } from '../provider/issuer/documents.ts'
import { watchClock } from './live/clock.ts'
import { type DiscoveryOutcome, judgeDiscovery } from './live/discovery.ts'
import { askForKeys } from './live/keys.ts'
import { judgePublished } from './live/published.ts'
import { askForRegistration } from './live/registration.ts'
import { askForAcceptance } from './live/secret.ts'
import type { Verdict } from './live/verdict.ts'

export type { Verdict } from './live/verdict.ts'

export interface LiveOptions {
  /** Guarded; default: this process's own, through the proxy that the environment names. */
  readonly fetch?: Fetch
  /** Base URLs that take the place of the vendors' own. */
  readonly presets?: PresetUrls
  /** Default: that of this machine. */
  readonly clock?: Clock
}

/**
 * Asks the IdP of a domain, with nobody signed in, what a login depends on, by the client that logins use. Each request has 10 s and
 * 1 MB, and there are two for each question at most. Nothing is left behind, but lines in the log of the IdP. Never rejects.
 */
export async function askProvider(settings: DomainSettings, options: LiveOptions = {}): Promise<readonly Verdict[]> {
  const { clock = systemClock, presets = {} } = options
  const { fetch = directFetch(FETCH_LIMITS, clock) } = options
  const now = () => clock.now()
  const watch = watchClock(idpFetchOf(settings, fetch, clock), now)
  let outcome: DiscoveryOutcome | undefined
  const provider = openProvider(settings, {
    idpFetch: watch.fetch,
    fetch,
    presets,
    documents: createDocuments(),
    clock,
    onDiscovered: ({ issuer: publishedIssuer }) => {
      outcome ??= { kind: 'discovered', publishedIssuer }
    },
    onFailure: (error, { byHand }) => {
      outcome ??= { kind: 'failed', error, byHand }
    },
    onAudience: () => undefined,
  })
  const { issuer, keySet, client, clientOf } = provider
  try {
    // `onFailure` was told why.
    const metadata = await issuer.metadata().catch(() => undefined)
    const verdicts = outcome ? [judgeDiscovery(settings.issuer, outcome, settings.custom.preset !== null)] : []
    if (!metadata) return [...verdicts, ...watch.verdicts()]
    const [keys, ...endpoints] = await Promise.all([
      askForKeys(settings, metadata.jwks_uri, keySet),
      askForRegistration(settings, { client, fetch, now }),
      askForAcceptance(settings, client, clientOf),
    ])
    return [...verdicts, keys, ...watch.verdicts(), ...judgePublished(metadata, settings), ...endpoints]
  } finally {
    provider.close()
  }
}
