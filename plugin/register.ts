import type { Application, Request } from 'express'
import { domainsByHostName } from './config/host-names.ts'
import type { Problem } from './config/problem.ts'
import { type DomainReading, readDomains } from './config/read.ts'
import type { PresetUrls } from './config/settings.ts'
import type { Host } from './host/port.ts'
import { causeCode, createLog, deepestMessage, type Log } from './log.ts'
import { createTransactions } from './login/transaction.ts'
import { choosePreset } from './presets/choose.ts'
import { createProviderClient } from './provider/client.ts'
import { openIssuer } from './provider/discovery.ts'
import { type Fetch, guardFetch } from './provider/guarded-fetch.ts'
import { mountRoutes } from './routes/mount.ts'
import { routePaths, type Strategy, type WorkingStrategy } from './routes/strategy.ts'

/** Outgoing requests: in all for one answer, and of its decoded body. */
const FETCH_LIMITS = { totalMs: 10_000, maxBytes: 1_000_000 }

export interface RegisterOptions {
  /** The server's whole JSON configuration. */
  readonly config: unknown
  readonly host: Host
  /** Base URLs that take the place of the vendors' own: sovereign clouds, tests. */
  readonly presets?: PresetUrls
  /** Replaces outgoing HTTP, for a proxy. The limits on time, size, redirects and plain HTTP hold all the same. */
  readonly fetch?: typeof globalThis.fetch
  /** Where the plugin's own lines go; default: JSON lines on stdout. */
  readonly log?: Log
  /** Whether unknown members of the issuer, client, custom and groups objects are errors (default) or warnings. */
  readonly unknownKeys?: 'error' | 'warn'
}

/** One button of the login page. */
export interface LoginOption {
  readonly id: 'oidc'
  /** Name of the provider, to stand on the button. */
  readonly title: string
  readonly url: string
}

export interface Oidc {
  /** What the login page of a domain shows; empty while its configuration has errors. */
  loginOptions(domainKey: string): readonly LoginOption[]
  /** Ends everything in the background. The routes stay, and fail. */
  close(): Promise<void>
}

/**
 * Registers single sign-on for every domain that has an `authStrategies.oidc` object: the login, the callback and the logout routes.
 * Resolves before any identity provider has answered. A domain whose configuration has errors is refused alone; each error is in the
 * authentication log.
 *
 * @throws TypeError when the configuration as a whole is unusable
 */
export async function registerOidc(app: Application, options: RegisterOptions): Promise<Oidc> {
  const { config, host, log = createLog('plugin') } = options
  const { domains, problems } = readDomains(config, {
    ...(options.presets ? { presets: options.presets } : {}),
    ...(options.unknownKeys ? { unknownKeys: options.unknownKeys } : {}),
    ...(host.basePath ? { basePathOf: host.basePath.bind(host) } : {}),
  })
  if (problems.length > 0) {
    throw new TypeError(problems.map(({ path, reason, remedy }) => `${path} ${reason}. ${remedy}`).join('\n'))
  }
  for (const domain of domains) reportReading(host, domain)

  const inner = options.fetch ?? globalThis.fetch
  const parts = {
    host,
    log,
    fetch: guardFetch((url, init) => inner(url, init as RequestInit), FETCH_LIMITS),
    presets: options.presets ?? {},
  }
  const strategies = domains.map((domain) => createStrategy(domain, parts))
  const transactions = createTransactions(host.secret, Date.now)
  mountRoutes(app, strategies, { host, transactions }, domainMatcher(config, host))
  return {
    loginOptions: (domainKey) =>
      strategies
        .filter((strategy) => strategy.domainKey === domainKey)
        .flatMap(({ working, paths }) =>
          working ? [{ id: 'oidc' as const, title: titleOf(working), url: paths.authorize }] : [],
        ),
    close: async () => {
      for (const { working } of strategies) working?.client.close()
    },
  }
}

interface StrategyParts {
  readonly host: Host
  readonly log: Log
  readonly fetch: Fetch
  readonly presets: PresetUrls
}

function createStrategy({ key, settings }: DomainReading, { host, log, fetch, presets }: StrategyParts): Strategy {
  const paths = routePaths(host.basePath?.(key) ?? '/', settings?.client.redirect_uri)
  if (!settings) return { domainKey: key, paths, working: null }
  const about = { domain: key, issuer: settings.issuer.issuer }
  const issuer = openIssuer(settings.issuer, settings.client.client_id, {
    fetch,
    now: Date.now,
    random: Math.random,
    onFailure: (error) => {
      const code = causeCode(error)
      const fields = { ...about, ...(code === undefined ? {} : { causeCode: code }), reason: deepestMessage(error) }
      log.error('discovery-failed', `OIDC: Discovery failed.${code === undefined ? '' : ` ${code}`}`, fields)
    },
    onDiscovered: () => log.info('discovered', 'OIDC: Discovery succeeded.', about),
  })
  const preset = choosePreset(settings.custom.preset, presets, fetch)
  const groupsClaim = settings.groups ? preset.groupsClaim(settings) : null
  const client = createProviderClient(settings, {
    issuer,
    fetch,
    scopes: [...new Set([...settings.custom.scope, ...preset.scopes(settings)])],
    claims: [...Object.values(settings.custom.claims), ...(groupsClaim === null ? [] : [groupsClaim])],
    now: Date.now,
  })
  return { domainKey: key, paths, working: { settings, client, preset } }
}

function titleOf({ settings, preset }: WorkingStrategy): string {
  return preset.title ?? new URL(settings.issuer.issuer).hostname
}

/** The host's own word on the domain of a request, or else its host name; the default domain takes what no other one claims. */
function domainMatcher(config: unknown, host: Host): (req: Request) => string | undefined {
  if (host.domainOf) return host.domainOf.bind(host)
  const byHostName = domainsByHostName(config)
  return (req) => byHostName.get(req.hostname.toLowerCase()) ?? ''
}

/** The specification wants warnings of deprecated keys in the authentication log; what breaks a login belongs there all the more. */
function reportReading(host: Host, { key, problems, warnings }: DomainReading): void {
  const report = (level: 'warn' | 'error', event: string, { path, reason, remedy }: Problem) =>
    host.authLog({ level, event, message: `${path} ${reason}. ${remedy}`, domain: key, fields: { path } })
  for (const problem of problems) report('error', 'configuration-error', problem)
  for (const warning of warnings)
    report('warn', warning.code === 'deprecated_key' ? 'deprecated-key' : 'configuration-warning', warning)
}
