import type * as oidc from 'openid-client'
import type { Clock, Timer } from '../../clock.ts'
import { withoutSuffix } from '../../config/rules/issuer-spelling.ts'
import type { IssuerSettings } from '../../config/settings.ts'
import { LoginError } from '../../errors.ts'
import { causes } from '../../log.ts'
import type { Fetch } from '../http/limited-fetch.ts'
import { UnansweredRequest } from '../http/noted-exchange.ts'
import { assertSafeAddresses, UnusableDocument } from './discovery-document.ts'
import type { Documents } from './documents.ts'

/** Pause after the first failed attempt; it doubles up to {@link LONGEST_PAUSE_MS}. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 5 * 60_000
/** What discovery found is looked up anew after this, in the background: endpoints move, rarely. */
const FRESH_MS = 60 * 60_000

/** What is known of an issuer: discovered, and overlaid with what an administrator set by hand. */
export interface Issuer {
  /**
   * The metadata, at once where it is known; else this is the next attempt to discover it.
   *
   * @throws LoginError `discovery_failed`
   */
  metadata(): Promise<oidc.ServerMetadata>
  close(): void
}

export interface DiscoveryDeps {
  /** Limited. */
  readonly fetch: Fetch
  /** Shared by all domains. */
  readonly documents: Documents
  readonly clock: Clock
  /** Between 0 and 1. */
  readonly random: () => number
  /** Called for each failed attempt, with what broke: `discovery_failed`. */
  readonly onFailure: (error: LoginError, outage: Outage) => void
  /** Called each time, with what was found, overlaid with what was set by hand. */
  readonly onDiscovered: (metadata: oidc.ServerMetadata) => void
}

export interface Outage {
  /** The attempt before did not fail, or there was none. */
  readonly begins: boolean
  /** All endpoints that a login needs are set by hand: it works without discovery. */
  readonly byHand: boolean
}

/**
 * Begins to discover an issuer, in the background: nobody waits and nothing rejects. While it fails it is tried again
 * with back-off and at each login. An issuer whose needed endpoints are all set by hand works without discovery.
 */
export function openIssuer(settings: IssuerSettings, deps: DiscoveryDeps): Issuer {
  const byHand = settings.manual.authorization_endpoint && settings.manual.token_endpoint && settings.manual.jwks_uri
  const fallback = byHand ? overlay({ issuer: withoutSuffix(settings.issuer) }, settings) : undefined
  let known: { readonly metadata: oidc.ServerMetadata; readonly at: number } | undefined
  let attempt: Promise<oidc.ServerMetadata> | undefined
  let failures = 0
  let timer: Timer | undefined
  let closed = false

  function discover(): Promise<oidc.ServerMetadata> {
    attempt ??= discoverOnce(settings, deps)
      .then(
        (metadata) => {
          known = { metadata, at: deps.clock.now() }
          failures = 0
          timer?.cancel()
          deps.onDiscovered(metadata)
          return metadata
        },
        (error: unknown) => {
          failures += 1
          const fault = discoveryFault(error)
          if (!closed) deps.onFailure(fault, { begins: failures === 1, byHand: fallback !== undefined })
          planRetry()
          throw fault
        },
      )
      .finally(() => {
        attempt = undefined
      })
    return attempt
  }

  function planRetry() {
    timer?.cancel()
    if (closed) return
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(failures - 1, 20))
    // Half of it by chance: servers that lost an IdP together do not come back to it together.
    timer = deps.clock.after(pause * (0.5 + deps.random() / 2), inBackground)
  }

  // `onFailure` has told of it.
  function inBackground() {
    discover().catch(() => undefined)
  }

  inBackground()
  return {
    async metadata() {
      if (known) {
        const age = deps.clock.now() - known.at
        // Below zero the clock was set back: how old it is, nobody knows.
        if ((age > FRESH_MS || age < 0) && failures === 0) inBackground()
        return known.metadata
      }
      if (fallback && failures > 0) return fallback
      return discover().catch((error: unknown) => {
        if (fallback) return fallback
        throw error
      })
    },
    close() {
      closed = true
      timer?.cancel()
    },
  }
}

async function discoverOnce(
  settings: IssuerSettings,
  { documents, fetch }: Pick<DiscoveryDeps, 'documents' | 'fetch'>,
): Promise<oidc.ServerMetadata> {
  const found = await documents(settings.issuer, fetch)
  // As it is, then: where many domains share an IdP, one copy of what it publishes serves them all.
  const metadata = isNothingByHand(settings) ? found : overlay(found, settings)
  assertSafeAddresses(metadata, settings)
  return metadata
}

function isNothingByHand({ manual }: IssuerSettings): boolean {
  return Object.keys(manual).length === 0
}

/**
 * What was set by hand wins, even where it differs. Source: Issuer object, and "Discovery" under "What the service
 * does".
 */
function overlay(found: oidc.ServerMetadata, settings: IssuerSettings): oidc.ServerMetadata {
  const { mtls_endpoint_aliases: aliases, userinfo_endpoint: userInfo, ...others } = structuredClone(settings.manual)
  const manual = { ...others, ...(userInfo === undefined ? {} : { userinfo_endpoint: userInfo || undefined }) }
  // An endpoint that was set by hand is not bypassed by the alias that discovery has for it.
  const foundAliases = Object.entries(found.mtls_endpoint_aliases ?? {}).filter(([name]) => !(name in manual))
  return {
    ...found,
    ...(manual as Partial<oidc.ServerMetadata>),
    mtls_endpoint_aliases: { ...Object.fromEntries(foundAliases), ...aliases },
    issuer: found.issuer,
  }
}

/** What kept an issuer from being discovered, as one of our errors; the cause is kept. */
function discoveryFault(error: unknown): LoginError {
  const chain = causes(error)
  const document = chain.find((cause) => cause instanceof UnusableDocument)
  if (document) {
    const { details, remedy } = document
    return new LoginError('discovery_failed', { cause: error, details, remedy })
  }
  const details = chain.find((cause) => cause instanceof UnansweredRequest)?.exchange ?? {}
  return new LoginError('discovery_failed', { cause: error, details: { ...details } })
}
