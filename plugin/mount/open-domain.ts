import type { Clock } from '../clock.ts'
import type { DomainReading } from '../config/read.ts'
import type { DomainSettings } from '../config/settings.ts'
import type { Host } from '../host/port.ts'
import type { Log } from '../log.ts'
import type { PresetUrls } from '../presets/presets.ts'
import type { Fetch } from '../provider/http/limited-fetch.ts'
import type { Documents } from '../provider/issuer/documents.ts'
import { createEndSession, type EndSession } from '../provider/logout/end-session.ts'
import { createLogoutTokens, type LogoutTokens } from '../provider/logout/logout-tokens.ts'
import type { RoutePaths, Strategy, WorkingStrategy } from '../routes/strategy.ts'
import { followRenewedGroups } from '../sessions/renewed-groups.ts'
import { SessionChecks } from '../sessions/session-checks.ts'
import type { AcceptedIssuers } from './accepted-issuers.ts'
import { idpFetchOf, openProvider, type Provider } from './open-provider.ts'
import { secretSource } from './secret-source.ts'
import { type DiscoveryWatch, watchDiscovery } from './status/discovery-watch.ts'
import type { WorkingDomain } from './status/domain-status.ts'

/** The parts that all domains of a server share. */
export interface DomainDeps {
  readonly host: Host
  readonly log: Log
  readonly fetch: Fetch
  readonly clock: Clock
  readonly presets: PresetUrls
  readonly documents: Documents
  readonly issuers: AcceptedIssuers
  readonly pathsOf: (base: string, redirectUri: string | undefined) => RoutePaths
  /** Time between two checks of a session in use, in milliseconds. 0 means no checks. */
  readonly everyMs: number
}

/** A domain that can serve requests: its configuration, its strategy, and the parts that report its status. */
export interface OpenedDomain {
  readonly reading: DomainReading
  readonly strategy: Strategy
  /** The parts that report the domain's status. Null if the domain's configuration has errors. */
  readonly watched: WorkingDomain | null
  close(): Promise<void>
}

/**
 * Opens a domain's IdP and creates the domain's strategy. If the configuration has errors, the strategy refuses all
 * logins.
 */
export function openDomain(reading: DomainReading, deps: DomainDeps): OpenedDomain {
  const { key: domainKey, settings } = reading
  const { host, log, fetch, clock, everyMs } = deps
  const paths = deps.pathsOf(host.basePath?.(domainKey) ?? '/', settings?.client.redirect_uri)
  if (!settings) {
    return { reading, strategy: { domainKey, paths, working: null }, watched: null, close: async () => undefined }
  }
  const idpFetch = idpFetchOf(settings, fetch, clock)
  const discovery = watchDiscovery(settings, log, () => clock.now())
  const provider = openIdp(settings, idpFetch, discovery, deps)
  const { keySet, preset } = provider
  const checks = new SessionChecks(domainKey, {
    host,
    provider,
    clock,
    everyMs,
    followGroups: (session, renewed) => followRenewedGroups(session, renewed, { host, settings, preset }),
  })
  return {
    reading,
    strategy: { domainKey, paths, working: workingStrategy(settings, provider, checks, idpFetch, host, clock) },
    watched: { settings, routes: paths, discovery, keySet, checks },
    async close() {
      await checks.close()
      provider.close()
    },
  }
}

function openIdp(
  settings: DomainSettings,
  idpFetch: Fetch,
  discovery: DiscoveryWatch,
  { host, log, fetch, clock, presets, documents, issuers }: DomainDeps,
): Provider {
  const { key } = settings
  return openProvider(settings, {
    idpFetch,
    fetch,
    presets,
    keepsTokens: host.sessions.inUse !== undefined,
    documents,
    onFailure: discovery.onFailure,
    onDiscovered(metadata) {
      issuers.notePublished(key, metadata.issuer)
      discovery.onDiscovered(metadata)
    },
    onAudience(address, audience) {
      const { origin, pathname } = new URL(address)
      const fields = { domain: key, endpoint: origin + pathname, audience, member: 'client.assertion_audience' }
      const message = `The IdP expects this audience in client assertions: ${audience}. Write it into \`client.assertion_audience\`.`
      log.info('assertion-audience', message, fields)
    },
    secretSource: secretSource(key, log),
    clock,
  })
}

/** Creates the parts of a valid domain. A part that only a login or a logout needs is created when it is first used. */
function workingStrategy(
  settings: DomainSettings,
  provider: Provider,
  checks: SessionChecks,
  idpFetch: Fetch,
  host: Host,
  clock: Clock,
): WorkingStrategy {
  const { issuer, keySet, preset } = provider
  let endSession: EndSession | undefined
  let logoutTokens: LogoutTokens | undefined
  return {
    settings,
    preset,
    checks,
    get client() {
      return provider.client
    },
    get endSession() {
      endSession ??= createEndSession(settings, {
        issuer,
        fetch: idpFetch,
        onMissing: (address, status) => logMissingEndSession(host, settings.key, address, status),
        clock,
      })
      return endSession
    },
    get logoutTokens() {
      logoutTokens ??= createLogoutTokens(provider.settings, {
        issuer,
        keySet,
        secret: provider.secret,
        clock,
        shared: host.sessions.revocations,
      })
      return logoutTokens
    },
  }
}

function logMissingEndSession({ authLog }: Host, domain: string, address: string, status: number): void {
  authLog({
    level: 'warn',
    event: 'end-session-missing',
    message:
      "The IdP publishes no end-session endpoint, and has none at the default address. After a logout, users see this server's login page, and stay signed in at the IdP. Set `logouturl` to the IdP's page that signs users out. If users may stay signed in there, set it to this login page.",
    domain,
    fields: { address, status },
  })
}
