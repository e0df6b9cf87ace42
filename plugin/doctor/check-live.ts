import { type Clock, systemClock } from '../clock.ts'
import type { DomainSettings, IssuerSettings } from '../config/settings.ts'
import type { LoginError } from '../errors.ts'
import { printableText } from '../log.ts'
import { FETCH_LIMITS, idpFetchOf, openProvider } from '../mount/open-provider.ts'
import { secretSource } from '../mount/secret-source.ts'
import type { PresetUrls } from '../presets/all.ts'
import { directFetch } from '../provider/http/direct-fetch.ts'
import type { Fetch } from '../provider/http/limited-fetch.ts'
import { createDocuments } from '../provider/issuer/documents.ts'
import { watchClock } from './live/clock.ts'
import { askForFiles } from './live/files.ts'
import { askForKeys } from './live/keys.ts'
import { askForPostLogout } from './live/post-logout.ts'
import { judgePublished } from './live/published.ts'
import { askForRegistration } from './live/registration.ts'
import { askForAcceptance } from './live/secret.ts'
import { askForUserInfo } from './live/user-info.ts'
import { faultInWords, type Verdict } from './live/verdict.ts'

export type { Verdict } from './live/verdict.ts'

export interface LiveOptions {
  /** Limited; default: this process's own, through the proxy that the environment names. */
  readonly fetch?: Fetch
  /** Base URLs that take the place of the vendors' own. */
  readonly presets?: PresetUrls
  /** Default: that of this machine. */
  readonly clock?: Clock
}

/**
 * Asks the IdP of a domain, with nobody signed in, what a login depends on, by the client that logins use. Each request
 * has 10 s and 1 MB, and there are two for each question at most. Nothing is left behind, but lines in the log of the
 * IdP. Never rejects.
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
    // In a running server, the file may hold another secret by now than at its start.
    secretSource: secretSource(settings.key, NO_LOG),
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
      askForUserInfo(settings, metadata, idpFetchOf(settings, fetch, clock)),
      askForPostLogout(settings, metadata.end_session_endpoint, fetch),
      askForFiles(settings, fetch),
    ])
    return [...verdicts, keys, ...watch.verdicts(), ...judgePublished(metadata, settings), ...endpoints]
  } finally {
    provider.close()
  }
}

const NO_LOG = { info: () => undefined, warn: () => undefined }

/** How a discovery went: with what the IdP calls itself, or with why it failed. */
type DiscoveryOutcome =
  | { readonly kind: 'discovered'; readonly publishedIssuer: string }
  /** `byHand`: logins go on with the endpoints that were given. */
  | { readonly kind: 'failed'; readonly error: LoginError; readonly byHand: boolean }

/** @param hasPreset the issuer is the preset's: there is nothing to spell otherwise */
function judgeDiscovery(
  { issuer }: Pick<IssuerSettings, 'issuer'>,
  outcome: DiscoveryOutcome,
  hasPreset: boolean,
): Verdict {
  const question = 'discovery'
  if (outcome.kind === 'failed') {
    const text = faultInWords(outcome.error)
    if (!outcome.byHand) return { question, verdict: 'fail', text }
    return { question, verdict: 'warn', text: `The endpoints in \`issuer\` are used. ${text}` }
  }
  const published = printableText(outcome.publishedIssuer)
  if (outcome.publishedIssuer === issuer || hasPreset) {
    const over = new URL(issuer).protocol === 'https:' ? 'TLS chain trusted' : 'plain HTTP on loopback'
    return { question, verdict: 'ok', text: `status 200, ${over}, issuer ${published}` }
  }
  const text = `The IdP calls itself ${published}, to the letter: write it so in \`issuer\`. The difference is understood, but not by all programs.`
  return { question, verdict: 'warn', text }
}
