import { type Clock, systemClock } from '../clock.ts'
import type { DomainSettings, IssuerSettings } from '../config/settings.ts'
import type { LoginError } from '../errors.ts'
import { printableText } from '../log.ts'
import { FETCH_LIMITS, idpFetchOf, openProvider } from '../mount/open-provider.ts'
import { secretSource } from '../mount/secret-source.ts'
import type { PresetUrls } from '../presets/presets.ts'
import { directFetch } from '../provider/http/direct-fetch.ts'
import type { Fetch } from '../provider/http/limited-fetch.ts'
import { createDocuments } from '../provider/issuer/documents.ts'
import { isOfMicrosoftTenant } from '../provider/issuer/issuer-name.ts'
import { watchClock } from './live/clock.ts'
import { askForFiles } from './live/files.ts'
import { askForKeys } from './live/keys.ts'
import { askForPostLogout } from './live/post-logout.ts'
import { judgeProvider } from './live/providers/known-providers.ts'
import { judgePublished } from './live/published.ts'
import { askForRegistration } from './live/registration.ts'
import { askForAcceptance } from './live/secret.ts'
import { askForUserInfo } from './live/user-info.ts'
import { faultInWords, type Verdict } from './live/verdict.ts'

export type { Verdict } from './live/verdict.ts'

export interface LiveOptions {
  /**
   * A `fetch` with limits on time and size. Default: the plugin's own, which uses the proxy that the environment names.
   */
  readonly fetch?: Fetch
  /** Base URLs that replace the vendors' own in presets. */
  readonly presets?: PresetUrls
  /** The clock. Default: the clock of this machine. */
  readonly clock?: Clock
}

/**
 * Checks what a login depends on at the IdP, with the same client but without a user. Changes nothing there. Limits: 10
 * s and 1 MB a request, two requests a check. Never rejects.
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
    // Read the client secret from its file again, because the file may have changed since the server started.
    secretSource: secretSource(settings.key, NO_LOG),
  })
  const { issuer, keySet, client, clientOf } = provider
  try {
    // Ignore the error of discovery here, because `onFailure` has received it.
    const metadata = await issuer.metadata().catch(() => undefined)
    const verdicts = [
      ...(outcome ? [judgeDiscovery(settings.issuer, outcome, settings.custom.preset !== null)] : []),
      ...judgeProvider({ issuer: new URL(settings.issuer.issuer), metadata, settings }),
    ]
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

/** The outcome of discovery: the published issuer, or the error. */
type DiscoveryOutcome =
  | { readonly kind: 'discovered'; readonly publishedIssuer: string }
  /** `byHand` is true if logins work although discovery failed, because the endpoints are configured. */
  | { readonly kind: 'failed'; readonly error: LoginError; readonly byHand: boolean }

/** Turns the outcome of discovery into a verdict. An issuer from a preset (`hasPreset`) cannot be misspelt. */
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
  const isMicrosoftTenant = !hasPreset && isOfMicrosoftTenant(issuer, outcome.publishedIssuer)
  if (outcome.publishedIssuer === issuer || hasPreset || isMicrosoftTenant) {
    const transport = new URL(issuer).protocol === 'https:' ? 'TLS chain trusted' : 'plain HTTP on loopback'
    const note = isMicrosoftTenant ? ', which Microsoft publishes for this address' : ''
    return { question, verdict: 'ok', text: `status 200, ${transport}, issuer ${published}${note}` }
  }
  const text = `The IdP publishes the issuer ${published}. Write exactly that in \`issuer\`. The plugin accepts the difference, but not all programs do.`
  return { question, verdict: 'warn', text }
}
