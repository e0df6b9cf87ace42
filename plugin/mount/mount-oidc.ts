import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Request } from 'express'
import { type Clock, systemClock } from '../clock.ts'
import type { ReadFile } from '../config/credentials/client-secret-file.ts'
import type { CredentialFiles, Readings } from '../config/read.ts'
import { withCleanAuthLog } from '../host/auth-log.ts'
import { LogBudget } from '../host/log-budget.ts'
import type { Account, Host } from '../host/port.ts'
import type { Log } from '../log.ts'
import { createLandings } from '../login/transaction/landings.ts'
import { createTransactions } from '../login/transaction/transaction.ts'
import { PRESETS, type PresetUrls } from '../presets/presets.ts'
import { directFetch } from '../provider/http/direct-fetch.ts'
import { type Fetch, limitFetch } from '../provider/http/limited-fetch.ts'
import { isVerificationSwitchedOff, SWITCHED_OFF } from '../provider/http/verification.ts'
import { createDocuments } from '../provider/issuer/documents.ts'
import { localReturnPath } from '../routes/login/initiation.ts'
import { createUserInfoWarning } from '../routes/login/userinfo-warning.ts'
import { type FormParser, type HostApp, mountRoutes } from '../routes/route-table.ts'
import { sharedRoutePaths, type WorkingStrategy } from '../routes/strategy.ts'
import { createIntrospection, type SessionState } from '../sessions/introspection.ts'
import { AcceptedIssuers } from './accepted-issuers.ts'
import { checkShared } from './check-shared.ts'
import { domainMatcher } from './domain-matcher.ts'
import { createLog } from './json-log.ts'
import { type DomainDeps, openDomain } from './open-domain.ts'
import { FETCH_LIMITS } from './open-provider.ts'
import { readDomains } from './read-domains.ts'
import { readTextFile } from './read-text-file.ts'
import { reportReading } from './report-reading.ts'
import { warnOfShadowedRoutes } from './shadowed-routes.ts'
import { type DomainStatus, domainStatus } from './status/domain-status.ts'
import { createLoginHistory, type LoginHistory } from './status/login-history.ts'

const PRESET_NAMES = PRESETS.map(({ name }) => name)

const LEAST_SECRET_CHARACTERS = 32

/** Options of `registerOidc`. */
export interface MountOptions {
  /** The server's whole JSON configuration. */
  readonly config: unknown
  readonly host: Host
  /** Base URLs that replace those of the vendors. For sovereign clouds and tests. */
  readonly presets?: PresetUrls
  /**
   * Files with the client's private keys and certificate, by domain key. They replace `domains.<key>.oidcCredentials`.
   * Read only once.
   */
  readonly credentials?: Readonly<Record<string, CredentialFiles>>
  /**
   * Folder of the configuration file, to which a relative `client.client_secret_file` refers. Without it, such paths
   * must be absolute.
   */
  readonly configFolder?: string
  /**
   * Replaces the plugin's HTTP client, except in domains with a client certificate. It bypasses the proxy of the
   * environment variables. The limits on time, size, redirects and plain HTTP still apply.
   */
  readonly fetch?: typeof globalThis.fetch
  /** The log for the plugin's own messages. Default: JSON lines on stdout. */
  readonly log?: Log
  /**
   * Whether unknown members of the issuer, client and custom objects are errors (default) or warnings. Unknown members
   * of `groups` are always errors.
   */
  readonly unknownKeys?: 'error' | 'warn'
  /**
   * Whether a preset's member in the custom object, such as `tenant_id`, selects that preset. A configured issuer then
   * replaces the preset's. Default: false.
   */
  readonly inferPresets?: boolean
  /**
   * Whether several processes share sessions. Requires `host.secret`, and shared stores of sessions, revocations,
   * accounts and groups. Default: false.
   */
  readonly shared?: boolean
  /**
   * The clock. Default: the clock of this machine.
   *
   * @internal
   */
  readonly clock?: Clock
}

/** What a server passes to {@link mountOidc} in addition to the options. */
export interface ServerParts {
  /** Parses posted forms. Either Express's own parser, or one that the server has already loaded. */
  readonly urlencoded: FormParser
  /**
   * Time between two checks of a session in use, in milliseconds. Requires `inUse` in `host.sessions`. Default 0, which
   * means no checks.
   */
  readonly sessionCheckMs?: number
}

/** A button of the login page. */
export interface LoginOption {
  readonly id: 'oidc'
  /** The provider's name for the button, or the button's whole text if `custom.buttonText` is configured. */
  readonly title: string
  readonly url: string
  /** The button's whole text. Undefined unless `custom.buttonText` is configured. */
  readonly buttonText?: string
  /**
   * The button's image: an address, or a path on this server. Undefined unless `custom.buttonIconUrl` is configured.
   */
  readonly iconUrl?: string
}

/** Single sign-on on one server. The server's own code calls these methods. */
export interface Oidc {
  /** Returns the buttons for a domain's login page. Returns no buttons if the domain's configuration has errors. */
  loginOptions(domainKey: string): readonly LoginOption[]
  /**
   * Returns the account that the browser is signed in to in the request's domain. Undefined if there is none, or if it
   * is locked. Rejects if a store fails.
   */
  account(req: IncomingMessage): Promise<Account | undefined>
  /**
   * Returns the path that begins a login and then leads back to the address of the request. If the domain's
   * configuration has errors, returns the path of the login page. Returns undefined if the domain has no single
   * sign-on.
   */
  loginUrl(req: IncomingMessage): string | undefined
  /**
   * Asks the IdP whether the browser's session is still active. Use it before important actions, because logout
   * messages may get lost. Reuses answers for 10 s. Never rejects. Treat all results but `active` as signed out.
   */
  introspect(req: IncomingMessage): Promise<SessionState>
  /** Returns the state of each domain, for an administrator's page. Sends no request. */
  status(): readonly DomainStatus[]
  /**
   * Stops background work. Waits at most 12 s for renewals to store their tokens, so close the session store
   * afterwards. The routes stay, but their requests fail.
   */
  close(): Promise<void>
}

/**
 * Mounts single sign-on like `registerOidc`, but synchronously.
 *
 * @throws TypeError in the same cases as `registerOidc`
 */
export function mountOidc(
  app: HostApp,
  options: MountOptions,
  { urlencoded, sessionCheckMs = 0 }: ServerParts,
  readings = readOptions(options),
): Oidc {
  const { config, log = createLog('plugin'), clock = systemClock } = options
  const now = () => clock.now()
  const { domains, problems } = readings
  if (problems.length > 0) {
    throw new TypeError(problems.map(({ path, reason, remedy }) => `${path} ${reason}. ${remedy}`).join('\n'))
  }
  checkSecret(options.host)
  if (options.shared) checkShared(app, options.host)
  const domainKeys = domains.map(({ key }) => key)
  const history = createLoginHistory(domainKeys, now)
  const { host, budget } = hostWithLogs(options.host, history, clock)
  for (const domain of domains) reportReading(host, domain)
  warnOfVerification(log)

  const issuers = new AcceptedIssuers()
  for (const { settings } of domains) if (settings) issuers.add(settings)
  host.sessions.acceptIssuers?.(issuers.accepts)
  const deps: DomainDeps = {
    host,
    log,
    fetch: outgoingFetch(options.fetch, clock),
    clock,
    presets: options.presets ?? {},
    documents: createDocuments(),
    issuers,
    pathsOf: sharedRoutePaths(PRESET_NAMES),
    everyMs: host.sessions.checkMs ?? sessionCheckMs,
  }
  const opened = domains.map((domain) => openDomain(domain, deps))
  const strategies = opened.map(({ strategy }) => strategy)
  host.sessions.sealBy?.(host.secret ?? randomBytes(LEAST_SECRET_CHARACTERS).toString('base64url'))
  const routeDeps = {
    host,
    transactions: createTransactions(host.secret, now),
    landings: createLandings(host.secret, now),
    domainsWithGroups: new Set<string>(),
    warnOfUserInfo: createUserInfoWarning(host, clock),
    clock,
  }
  const domainOf = domainMatcher(config, host)
  warnOfShadowedRoutes(
    app,
    strategies.map(({ paths }) => paths),
    log,
  )
  mountRoutes(app, strategies, routeDeps, domainOf, urlencoded)
  return {
    loginOptions: (domainKey) =>
      strategies
        .filter((strategy) => strategy.domainKey === domainKey)
        .flatMap(({ working, paths }) => (working ? [loginOption(working, paths.authorize)] : [])),
    account: (req) => signedInAccount(req as Request, host, domainOf),
    loginUrl(req) {
      const strategy = strategies.find(({ domainKey }) => domainKey === domainOf(req as Request))
      if (!strategy) return undefined
      const { paths, working } = strategy
      if (!working) return paths.login
      const returnPath = localReturnPath((req as Request).originalUrl, paths.all)
      return returnPath ? `${paths.authorize}?return=${encodeURIComponent(returnPath)}` : paths.authorize
    },
    introspect: createIntrospection(strategies, host, clock),
    status: () => opened.map(({ reading, watched }) => domainStatus(reading, watched, history)),
    async close() {
      await Promise.all(opened.map(({ close }) => close()))
      budget.close()
    },
  }
}

/**
 * Reads the configuration of each domain.
 *
 * @param readFile like `readFileSync`
 * @param meshCentral whether to read it as MeshCentral does
 */
export function readOptions(
  options: Omit<MountOptions, 'log'>,
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

/** Refuses a short secret, for example of an unset variable. A stranger who guesses it can forge cookies. */
function checkSecret({ secret }: Host): void {
  if (secret !== undefined && secret.length < LEAST_SECRET_CHARACTERS) {
    throw new TypeError(
      `\`host.secret\` has fewer than ${LEAST_SECRET_CHARACTERS} characters. Set it to at least that many random characters that stay the same after a restart (\`openssl rand -base64 32\`), or leave it out.`,
    )
  }
}

/**
 * Returns the host with an authentication log that sanitizes entries, limits their number, and remembers them for the
 * status.
 */
function hostWithLogs(original: Host, history: LoginHistory, clock: Clock): { host: Host; budget: LogBudget } {
  const clean = withCleanAuthLog(original)
  const budget = new LogBudget(clean.authLog, clock)
  const authLog: Host['authLog'] = (entry) => {
    history.note(entry)
    budget.write(entry)
  }
  return { host: { ...clean, authLog }, budget }
}

/**
 * Returns the account of a session. A session is valid only in the domain in which it began, and only while its account
 * exists there and is not locked.
 */
async function signedInAccount(
  req: Request,
  { sessions, accounts }: Host,
  domainOf: (req: Request) => string | undefined,
): Promise<Account | undefined> {
  const signIn = await sessions.current(req)
  if (signIn === undefined || signIn.domainKey !== domainOf(req)) return undefined
  const account = await accounts.find(signIn.domainKey, signIn.userId)
  return account?.locked ? undefined : account
}

function warnOfVerification(log: Log): void {
  if (!isVerificationSwitchedOff()) return
  const { reason, remedy } = SWITCHED_OFF
  log.warn('tls-verification-kept', `NODE_TLS_REJECT_UNAUTHORIZED ${reason}. ${remedy}`)
}

function outgoingFetch(hostFetch: MountOptions['fetch'], clock: Clock): Fetch {
  if (!hostFetch) return directFetch(FETCH_LIMITS, clock)
  return limitFetch((url, init) => hostFetch(url, init as RequestInit), FETCH_LIMITS, clock)
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
