import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Request } from 'express'
import { type Clock, systemClock } from '../clock.ts'
import type { ReadFile } from '../config/credentials/client-secret-file.ts'
import { domainsByHostName } from '../config/domains/host-names.ts'
import type { Problem } from '../config/problem.ts'
import type { CredentialFiles, DomainReading, Readings } from '../config/read.ts'
import { withCleanAuthLog } from '../host/auth-log.ts'
import { LogBudget } from '../host/log-budget.ts'
import type { Host } from '../host/port.ts'
import type { Log } from '../log.ts'
import { createLandings } from '../login/transaction/landings.ts'
import { createTransactions } from '../login/transaction/transaction.ts'
import { PRESETS, type PresetUrls } from '../presets/all.ts'
import { directFetch } from '../provider/http/direct-fetch.ts'
import { type Fetch, limitFetch } from '../provider/http/limited-fetch.ts'
import { isVerificationSwitchedOff, SWITCHED_OFF } from '../provider/http/verification.ts'
import { createDocuments, type Documents } from '../provider/issuer/documents.ts'
import { createEndSession, type EndSession } from '../provider/logout/end-session.ts'
import { createLogoutTokens, type LogoutTokens } from '../provider/logout/logout-tokens.ts'
import { createUserInfoWarning } from '../routes/login/userinfo-warning.ts'
import { type FormParser, type HostApp, mountRoutes } from '../routes/route-table.ts'
import { type RoutePaths, type Strategy, sharedRoutePaths, type WorkingStrategy } from '../routes/strategy.ts'
import { createIntrospection, type SessionState } from '../sessions/introspection.ts'
import { followRenewedGroups } from '../sessions/renewed-groups.ts'
import { type ChecksOptions, SessionChecks } from '../sessions/session-checks.ts'
import { AcceptedIssuers } from './accepted-issuers.ts'
import { checkShared } from './check-shared.ts'
import { FETCH_LIMITS, idpFetchOf, openProvider } from './open-provider.ts'
import { readDomains } from './read-domains.ts'
import { readTextFile } from './read-text-file.ts'
import { secretSource } from './secret-source.ts'
import { watchDiscovery } from './status/discovery-watch.ts'
import { type DomainStatus, domainStatus, type WorkingDomain } from './status/domain-status.ts'
import { createLoginHistory, type LoginHistory } from './status/login-history.ts'

const PRESET_NAMES = PRESETS.map(({ name }) => name)

const LEAST_SECRET = 32 // characters

/** What single sign-on is mounted with. */
export interface MountOptions {
  /** The server's whole JSON configuration. */
  readonly config: unknown
  readonly host: Host
  /** Base URLs that take the place of the vendors' own: sovereign clouds, tests. */
  readonly presets?: PresetUrls
  /**
   * Files with the private keys and the certificate of this server as a client, by domain key. Wins over
   * `domains.<key>.oidcCredentials`. They are read here and now: after a change, register anew.
   */
  readonly credentials?: Readonly<Record<string, CredentialFiles>>
  /**
   * Folder where a relative `client.client_secret_file` starts: that of the configuration file. Default: none, and such
   * paths have to be absolute.
   */
  readonly configFolder?: string
  /**
   * Replaces outgoing HTTP. The proxy that the environment names needs none, and is not used by it. The limits on time,
   * size, redirects and plain HTTP hold all the same. It can show no certificate: where a domain has one, TLS
   * connections to its IdP are made without it.
   */
  readonly fetch?: typeof globalThis.fetch
  /** Where the plugin's own lines go. */
  readonly log: Log
  /**
   * Whether unknown members of the issuer, client and custom objects are errors (default) or warnings. In `groups` they
   * are always errors.
   */
  readonly unknownKeys?: 'error' | 'warn'
  /**
   * Whether a member of the custom object that only one preset has means that preset, where none is chosen; default
   * false. A configured issuer then stands in place of the preset's.
   */
  readonly inferPresets?: boolean
  /**
   * True: several processes serve the same sessions, so what they share is demanded: `host.secret`, and a store of
   * revocations, accounts, groups and a session store that are no process's own.
   */
  readonly shared?: boolean
  /** How often IdPs are asked about sessions in use, where `host.sessions` has `inUse`. Default 0: never. */
  readonly sessionCheckMs?: number
  /**
   * Default: that of this machine.
   *
   * @internal
   */
  readonly clock?: Clock
  /** Reads posted forms: Express's own, or the one that the server has loaded anyway. */
  readonly urlencoded: FormParser
}

/** One button of the login page. */
export interface LoginOption {
  readonly id: 'oidc'
  /** Name of the provider, to stand on the button; `buttonText`, where there is one. */
  readonly title: string
  readonly url: string
  /** The whole text of the button, where `custom.buttonText` says one. */
  readonly buttonText?: string
  /** An image for the button, where `custom.buttonIconUrl` names one: an address, or a path of this server. */
  readonly iconUrl?: string
}

export interface Oidc {
  /** What the login page of a domain shows; empty while its configuration has errors. */
  loginOptions(domainKey: string): readonly LoginOption[]
  /**
   * Asks the IdP whether the browser's session goes on there, for what is too important to rely on the IdP having told
   * of its end. An answer of the last 10 s will do. Never rejects; to be safe, take everything but `active` for signed
   * out.
   */
  introspect(req: IncomingMessage): Promise<SessionState>
  /** How each domain with single sign-on is, for a page of administrators. Nobody is asked for it. */
  status(): readonly DomainStatus[]
  /**
   * Ends everything in the background. Renewals of sessions that are under way finish first, and their tokens are
   * written; that takes 12 s at most. Close what the host's sessions are kept in after that. The routes stay, and fail.
   */
  close(): Promise<void>
}

/**
 * What `registerOidc` does, at once: for a server whose routes have to be in place when the call returns.
 *
 * @throws TypeError when the configuration as a whole is unusable, the host's secret is too short, or what several
 *   processes have to share is missing
 */
export function mountOidc(app: HostApp, options: MountOptions, readings = readOptions(options)): Oidc {
  const { config, log, clock = systemClock } = options
  const now = () => clock.now()
  const { domains, problems } = readings
  if (problems.length > 0) {
    throw new TypeError(problems.map(({ path, reason, remedy }) => `${path} ${reason}. ${remedy}`).join('\n'))
  }
  checkSecret(options.host)
  if (options.shared) checkShared(app, options.host)
  const history = createLoginHistory(
    domains.map(({ key }) => key),
    now,
  )
  const clean = withCleanAuthLog(options.host)
  const budget = new LogBudget(clean.authLog, clock)
  const host = withHistory({ ...clean, authLog: (entry) => budget.write(entry) }, history)
  for (const domain of domains) reportReading(host, domain)
  if (isVerificationSwitchedOff()) {
    const { reason, remedy } = SWITCHED_OFF
    log.warn('tls-verification-kept', `NODE_TLS_REJECT_UNAUTHORIZED ${reason}. ${remedy}`)
  }

  const own = options.fetch
  const parts = {
    host,
    log,
    fetch: own
      ? limitFetch((url, init) => own(url, init as RequestInit), FETCH_LIMITS, clock)
      : directFetch(FETCH_LIMITS, clock),
    clock,
    presets: options.presets ?? {},
    documents: createDocuments(),
    pathsOf: sharedRoutePaths(PRESET_NAMES),
    everyMs: options.host.sessions.checkMs ?? options.sessionCheckMs ?? 0,
  }
  const issuers = new AcceptedIssuers()
  for (const { settings } of domains) if (settings) issuers.add(settings)
  host.sessions.acceptIssuers?.(issuers.accepts)
  const opened = domains.map((domain) => ({ ...openDomain(domain, { ...parts, issuers }), domain }))
  const strategies = opened.map(({ strategy }) => strategy)
  host.sessions.sealBy?.(host.secret ?? randomBytes(LEAST_SECRET).toString('base64url'))
  const transactions = createTransactions(host.secret, now)
  const landings = createLandings(host.secret, now)
  mountRoutes(
    app,
    strategies,
    {
      host,
      transactions,
      landings,
      domainsWithGroups: new Set(),
      warnOfUserInfo: createUserInfoWarning(host, clock),
      clock,
    },
    domainMatcher(config, host),
    options.urlencoded,
  )
  return {
    loginOptions: (domainKey) =>
      strategies
        .filter((strategy) => strategy.domainKey === domainKey)
        .flatMap(({ working, paths }) => (working ? [loginOption(working, paths.authorize)] : [])),
    introspect: createIntrospection(strategies, host, clock),
    status: () => opened.map(({ domain, watched }) => domainStatus(domain, watched, history)),
    close: async () => {
      await Promise.all(opened.map(({ close }) => close()))
      budget.close()
    },
  }
}

/**
 * What the configuration says, for the place that the host gives each domain.
 *
 * @param readFile as `readFileSync` does it
 * @param meshCentral whether it is read as MeshCentral reads it
 */
export function readOptions(
  options: Omit<MountOptions, 'log' | 'urlencoded'>,
  readFile: ReadFile = readTextFile,
  meshCentral = false,
): Readings {
  const { config, host, presets, unknownKeys, inferPresets, credentials, configFolder, clock = systemClock } = options
  return readDomains(config, {
    ...(presets ? { presets } : {}),
    ...(unknownKeys ? { unknownKeys } : {}),
    ...(inferPresets ? { inferPresets } : {}),
    meshCentral,
    ...(credentials ? { credentials } : {}),
    ...(configFolder === undefined ? {} : { configFolder }),
    hasRights: host.accounts.setRights !== undefined,
    readFile,
    now: clock.now(),
    ...(host.basePath ? { basePathOf: host.basePath.bind(host) } : {}),
  })
}

/**
 * What is sealed travels through browsers: a secret that can be guessed, or an unset environment variable, opens it to
 * anybody.
 */
function checkSecret({ secret }: Host): void {
  if (secret !== undefined && secret.length < LEAST_SECRET) {
    throw new TypeError(
      `host.secret has fewer than ${LEAST_SECRET} characters. Give it that many random ones that outlive a restart (\`openssl rand -base64 32\`), or leave it out.`,
    )
  }
}

interface StrategyParts {
  readonly host: Host
  readonly log: Log
  readonly fetch: Fetch
  readonly clock: Clock
  readonly presets: PresetUrls
  readonly documents: Documents
  readonly issuers: AcceptedIssuers
  readonly pathsOf: (base: string, redirectUri: string | undefined) => RoutePaths
  /** How often sessions in use are asked about. 0: never. */
  readonly everyMs: number
}

interface OpenedDomain {
  readonly strategy: Strategy
  /** What its status is read from; null where its configuration has errors. */
  readonly watched: WorkingDomain | null
  readonly close: () => Promise<void>
}

function openDomain(
  { key, settings }: DomainReading,
  { host, log, fetch, clock, presets, documents, issuers, pathsOf, everyMs }: StrategyParts,
): OpenedDomain {
  const paths = pathsOf(host.basePath?.(key) ?? '/', settings?.client.redirect_uri)
  if (!settings)
    return { strategy: { domainKey: key, paths, working: null }, watched: null, close: async () => undefined }
  const idpFetch = idpFetchOf(settings, fetch, clock)
  const discovery = watchDiscovery(settings, log, () => clock.now())
  const provider = openProvider(settings, {
    idpFetch,
    fetch,
    presets,
    keepsTokens: host.sessions.inUse !== undefined,
    documents,
    onFailure: discovery.onFailure,
    onDiscovered: (metadata) => {
      issuers.notePublished(key, metadata.issuer)
      discovery.onDiscovered(metadata)
    },
    onAudience: (address, audience) => {
      const { origin, pathname } = new URL(address)
      const fields = { domain: key, endpoint: origin + pathname, audience, member: 'client.assertion_audience' }
      log.info('assertion-audience', `The IdP wants this as audience of client assertions: ${audience}.`, fields)
    },
    secretSource: secretSource(key, log),
    clock,
  })
  const { issuer, keySet, preset } = provider
  const followGroups: ChecksOptions['followGroups'] = (session, renewed) =>
    followRenewedGroups(session, renewed, { host, settings, preset })
  const checks = new SessionChecks(key, { host, provider, clock, everyMs, followGroups })
  // What only a login or a logout needs is made at the first one.
  let endSession: EndSession | undefined
  let logoutTokens: LogoutTokens | undefined
  const working: WorkingStrategy = {
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
        onMissing: (address, status) => reportNoEndSession(host, key, address, status),
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
  return {
    strategy: { domainKey: key, paths, working },
    watched: { settings, routes: paths, discovery, keySet, checks },
    async close() {
      await checks.close()
      provider.close()
    },
  }
}

function reportNoEndSession(host: Host, domain: string, address: string, status: number): void {
  host.authLog({
    level: 'warn',
    event: 'end-session-missing',
    message:
      'The IdP publishes no end-session endpoint and has none at the default address: logouts end on the login page here, and people stay signed in there. Set `logouturl` to the page that signs them out, or to the login page.',
    domain,
    fields: { address, status },
  })
}

/** The same host, whose authentication log is remembered as far as a status tells of it. */
function withHistory(host: Host, history: LoginHistory): Host {
  return {
    ...host,
    authLog: (entry) => {
      history.note(entry)
      host.authLog(entry)
    },
  }
}

function loginOption({ settings, preset }: WorkingStrategy, url: string): LoginOption {
  const { buttonText, buttonIconUrl: iconUrl } = settings.custom
  return {
    id: 'oidc',
    title: buttonText ?? preset.title ?? new URL(settings.issuer.issuer).hostname,
    url,
    ...(buttonText === undefined ? {} : { buttonText }),
    ...(iconUrl === undefined ? {} : { iconUrl }),
  }
}

/**
 * The host's own word on the domain of a request, or else its host name; the default domain takes what no other one
 * claims.
 */
function domainMatcher(config: unknown, host: Host): (req: Request) => string | undefined {
  if (host.domainOf) return host.domainOf.bind(host)
  const byHostName = domainsByHostName(config)
  return (req) => {
    // HTTP/1.0 needs no `Host`, whatever Express's types say: load balancers check like that.
    const name: string | undefined = req.hostname
    // A dot at its end names the same host. Source: RFC 1034, section 3.1.
    return byHostName.get(name?.toLowerCase().replace(/\.$/, '') ?? '') ?? ''
  }
}

/**
 * The specification wants warnings of deprecated keys in the authentication log; what breaks a login belongs there all
 * the more.
 */
function reportReading(host: Host, { key, problems, warnings }: DomainReading): void {
  const report = (level: 'warn' | 'error', event: string, { path, reason, remedy }: Problem, code: object = {}) =>
    host.authLog({ level, event, message: `${path} ${reason}. ${remedy}`, domain: key, fields: { path, ...code } })
  for (const problem of problems) report('error', 'configuration-error', problem)
  for (const { code, ...warning } of warnings)
    report('warn', code === 'deprecated_key' ? 'deprecated-key' : 'configuration-warning', warning, { code })
}
