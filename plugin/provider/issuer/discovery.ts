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

/** The pause after the first failed discovery attempt. It doubles with each failure, up to {@link LONGEST_PAUSE_MS}. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 5 * 60_000
/**
 * How long discovered metadata is used without a refresh, in milliseconds. Older metadata stays in use during the
 * refresh, because endpoints rarely change.
 */
const FRESH_MS = 60 * 60_000

/** The metadata of an issuer: the discovered members, replaced by configured ones where there are any. */
export interface Issuer {
  /**
   * Returns the known metadata at once. If there is none yet, waits for the discovery attempt that is running, or
   * starts one.
   *
   * @throws LoginError `discovery_failed`
   */
  metadata(): Promise<oidc.ServerMetadata>
  close(): void
}

export interface DiscoveryDeps {
  /** A `fetch` with time and size limits. */
  readonly fetch: Fetch
  /** The loader of discovery documents, which all domains share. */
  readonly documents: Documents
  readonly clock: Clock
  /** Returns a random number between 0 and 1. */
  readonly random: () => number
  /** Called after each failed discovery attempt, with `discovery_failed` and its cause. */
  readonly onFailure: (error: LoginError, outage: Outage) => void
  /** Called after each successful discovery attempt, with the metadata as {@link Issuer.metadata} returns it. */
  readonly onDiscovered: (metadata: oidc.ServerMetadata) => void
}

export interface Outage {
  /**
   * True if an outage begins with this failed discovery attempt: it was the first attempt, or the previous attempt
   * succeeded.
   */
  readonly begins: boolean
  /** True if all endpoints that a login needs are configured, so that logins work without discovery. */
  readonly byHand: boolean
}

/**
 * Starts to discover an issuer in the background and returns immediately. If all endpoints that a login needs are
 * configured, logins work without discovery.
 */
export function openIssuer(settings: IssuerSettings, deps: DiscoveryDeps): Issuer {
  return new DiscoveredIssuer(settings, deps)
}

interface Discovered {
  readonly metadata: oidc.ServerMetadata
  readonly discoveredAt: number
}

/**
 * An issuer is in one of three states:
 *
 * - *Unknown*, from the start until the first attempt succeeds. Each login joins the running attempt or starts one. If
 *   all needed endpoints are configured and an attempt has failed, logins use the configured endpoints.
 * - *Discovered*, after a success. Logins use the metadata at once. The first login after an hour refreshes it in the
 *   background.
 * - *Failing*, after a failed attempt, with or without metadata. A timer retries after a second. The pause then doubles
 *   after each failure, up to five minutes. The next success ends this state.
 *
 * At most one attempt runs at a time. Metadata is never discarded, only replaced. Once closed, the issuer schedules no
 * retry and reports no failure.
 */
class DiscoveredIssuer implements Issuer {
  readonly #settings: IssuerSettings
  readonly #deps: DiscoveryDeps
  /** The configured metadata, if it suffices for a login without discovery. */
  readonly #fallback: oidc.ServerMetadata | undefined
  #discovered: Discovered | undefined
  #attempt: Promise<oidc.ServerMetadata> | undefined
  #failures = 0
  #retry: Timer | undefined
  #closed = false

  constructor(settings: IssuerSettings, deps: DiscoveryDeps) {
    const { authorization_endpoint, token_endpoint, jwks_uri } = settings.manual
    this.#settings = settings
    this.#deps = deps
    this.#fallback =
      authorization_endpoint && token_endpoint && jwks_uri
        ? overlay({ issuer: withoutSuffix(settings.issuer) }, settings)
        : undefined
    this.#discoverInBackground()
  }

  async metadata(): Promise<oidc.ServerMetadata> {
    const fallback = this.#fallback
    if (this.#discovered) {
      const age = this.#deps.clock.now() - this.#discovered.discoveredAt
      // If the clock was set back, the metadata's age is negative. The true age is unknown, so refresh the metadata.
      if ((age > FRESH_MS || age < 0) && this.#failures === 0) this.#discoverInBackground()
      return this.#discovered.metadata
    }
    if (fallback && this.#failures > 0) return fallback
    return this.#discover().catch((error: unknown) => {
      if (fallback) return fallback
      throw error
    })
  }

  close(): void {
    this.#closed = true
    this.#retry?.cancel()
  }

  #discoverInBackground(): void {
    // Ignore the error, because `onFailure` has already reported it.
    this.#discover().catch(() => undefined)
  }

  #discover(): Promise<oidc.ServerMetadata> {
    this.#attempt ??= discoverOnce(this.#settings, this.#deps)
      .then(
        (metadata) => this.#succeed(metadata),
        (error: unknown) => this.#fail(error),
      )
      .finally(() => {
        this.#attempt = undefined
      })
    return this.#attempt
  }

  #succeed(metadata: oidc.ServerMetadata): oidc.ServerMetadata {
    this.#discovered = { metadata, discoveredAt: this.#deps.clock.now() }
    this.#failures = 0
    this.#retry?.cancel()
    this.#deps.onDiscovered(metadata)
    return metadata
  }

  #fail(error: unknown): never {
    this.#failures += 1
    const fault = discoveryFault(error)
    const outage = { begins: this.#failures === 1, byHand: this.#fallback !== undefined }
    if (!this.#closed) this.#deps.onFailure(fault, outage)
    this.#planRetry()
    throw fault
  }

  #planRetry(): void {
    this.#retry?.cancel()
    if (this.#closed) return
    const pause = Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 2 ** Math.min(this.#failures - 1, 20))
    // Half of the pause is random. Otherwise servers that lost an IdP at the same time would all retry at the same
    // time.
    this.#retry = this.#deps.clock.after(pause * (0.5 + this.#deps.random() / 2), () => this.#discoverInBackground())
  }
}

async function discoverOnce(
  settings: IssuerSettings,
  { documents, fetch }: Pick<DiscoveryDeps, 'documents' | 'fetch'>,
): Promise<oidc.ServerMetadata> {
  const published = await documents(settings.issuer, fetch)
  // Copy the metadata only if members are configured. All other domains with the same IdP then share one copy.
  const metadata = isAllDiscovered(settings) ? published : overlay(published, settings)
  assertSafeAddresses(metadata, settings)
  return metadata
}

function isAllDiscovered({ manual }: IssuerSettings): boolean {
  return Object.keys(manual).length === 0
}

/**
 * Replaces members of the published metadata with the configured ones. Source: Issuer object, and "Discovery" under
 * "What the service does".
 */
function overlay(published: oidc.ServerMetadata, settings: IssuerSettings): oidc.ServerMetadata {
  const { mtls_endpoint_aliases: aliases, userinfo_endpoint: userInfo, ...members } = structuredClone(settings.manual)
  const manual = { ...members, ...(userInfo === undefined ? {} : { userinfo_endpoint: userInfo || undefined }) }
  // Drop published mTLS aliases of configured endpoints, because an alias would bypass the configured address.
  const publishedAliases = Object.entries(published.mtls_endpoint_aliases ?? {}).filter(([name]) => !(name in manual))
  return {
    ...published,
    ...(manual as Partial<oidc.ServerMetadata>),
    mtls_endpoint_aliases: { ...Object.fromEntries(publishedAliases), ...aliases },
    issuer: published.issuer,
  }
}

/** Translates a failed discovery into `discovery_failed`. Keeps the cause. */
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
