import { resolve } from 'node:path'
import type { Clock } from '../../clock.ts'
import { unlimitedTokensNote } from '../../config/meshcentral/login-tokens.ts'
import type { ServerReading } from '../../config/meshcentral/server-reading.ts'
import type { DomainReading } from '../../config/read.ts'
import { askProvider } from '../../doctor/check-live.ts'
import { createLiveChecks, type LiveChecks } from '../../doctor/live-checks.ts'
import { TESTED_VERSIONS } from '../../doctor/meshcentral-members.ts'
import { printableText } from '../../log.ts'
import { type MountOptions, type Oidc, readOptions } from '../../mount/mount-oidc.ts'
import { readTextFile } from '../../mount/read-text-file.ts'
import { PRESETS, type PresetUrls } from '../../presets/presets.ts'
import { isVerificationSwitchedOff, SWITCHED_OFF } from '../../provider/http/verification.ts'
import { type MeshHost, meshHost } from '../host.ts'
import type { Lockdown } from '../lockdown.ts'
import { AccountMoves } from '../moves/account-moves.ts'
import { updatePeerPages } from '../moves/peer-pages.ts'
import { RefusedLogins } from '../moves/refused-logins.ts'
import { orderWrites } from '../ordered-writes.ts'
import { type AdminPage, meshAdminPage } from '../pages/admin-page.ts'
import { keepSocketsOpen } from '../pages/password-limit.ts'
import { type PasswordAccounts, passwordLoginWarnings } from '../people/password-login.ts'
import { TokenCensus } from '../people/unlimited-tokens.ts'
import { askForOpening, beforeFirstRequest, type Sealing } from '../self-test.ts'
import type { MeshServer, MeshWeb } from '../server.ts'
import { OpenSessions } from '../sessions/open-sessions.ts'
import { RevokedSessions } from '../sessions/revoked-sessions.ts'
import { finishBeforeStop } from '../sessions/stop-signals.ts'
import { sentencesOf, warnOfConfiguration, warnSiteAdmins } from './configuration-findings.ts'
import type { CookieKey } from './cookie-key.ts'
import { installGuard, mountRoutes } from './guarded-routes.ts'
import { obstacle } from './obstacle.ts'
import { type PluginSettings, readPluginSettings } from './plugin-settings.ts'
import { logOf, reportFailure, reportOff } from './server-log.ts'
import { pluginConfig, routeByName, showButton, type TakenDomain } from './take-over.ts'

const PRESET_NAMES = PRESETS.map(({ name }) => name)

export interface Installation {
  readonly server: MeshServer
  readonly web: MeshWeb
  readonly takenDomains: ReadonlyMap<string, TakenDomain>
  /** The accounts that may use passwords in domains with `custom.password_login`. */
  readonly passwordAccounts: PasswordAccounts
  readonly cookieKey: CookieKey
  readonly lockdown: Lockdown
  /** The problems found in the server's own settings. */
  readonly reading: ServerReading
  readonly clock: Clock
}

export interface Installed {
  readonly page: AdminPage
  /**
   * Tests at the first request whether MeshCentral opens cookies with the plugin's `decodeCookie`. If it does not,
   * calls `onOther`.
   */
  check(onOther: () => void): void
  close(): void
}

type Certificates = NonNullable<MeshServer['certificates']>

/**
 * Installs single sign-on: the guard, the routes, the buttons and the administrator's page. Then lifts the
 * {@link Lockdown} for the plugin's domains.
 *
 * @returns undefined if single sign-on cannot work in this server. The reason is logged
 */
export function install(installation: Installation): Installed | undefined {
  const { server, web, takenDomains, cookieKey, lockdown, clock } = installation
  const { certificates } = server
  const key = cookieKey.get()
  const reason = obstacle(server, web, lockdown.sealing, cookieKey)
  if (reason !== undefined || !certificates || !key) {
    reportOff(server, reason ?? 'failed to start: MeshCentral has no certificates. Restart MeshCentral')
    return undefined
  }
  const report = (error: unknown) => reportFailure(server, error)
  orderWrites(server.db, clock)
  const notes = startNotes(server)
  const revocations = new RevokedSessions(server.db, clock, server.multiServer ? report : undefined)
  const open = new OpenSessions(clock)
  const refusedLogins = new RefusedLogins(web, clock)
  const settings = readPluginSettings(server)
  const secret = key.toString('hex')
  const host = meshHost({
    server,
    web,
    takenDomains,
    revocations,
    open,
    refusedLogins,
    secret,
    presets: PRESET_NAMES,
    clock,
    loginTokenDays: settings.loginTokenDays,
    onFailure: report,
  })
  reportProblem(server, settings)
  const options = mountOptions(installation, certificates, host, settings)
  const readings = readOptions(options, (file, most) => readTextFile(resolve(server.datapath, file), most), true)
  reportFindings(installation, readings.domains)

  routeByName(takenDomains, web)
  keepSocketsOpen(web)
  const domains: ReadonlySet<string> = new Set(takenDomains.keys())
  const sealing = lockdown.sealing as Sealing
  // The order matters. `sessionGuard` must remove ended sessions before any route sees them. The plugin's routes must
  // come before MeshCentral's.
  const { sealed, visits } = installGuard({ server, web, sealing, revocations, open, domains, host, clock, report })
  const { sessionCheckMs } = settings
  const presets = PRESET_NAMES
  const oidc = mountRoutes({ server, web, host, options, readings, presets, visits, sessionCheckMs, report })
  const noStop = finishBeforeStop(() => oidc.close())

  showButtons(server, takenDomains, readings.domains, oidc)
  const moves = new AccountMoves({ server, web, clock, isShared: Boolean(server.multiServer), onFailure: report })
  void moves.resume()
  updatePeerPages(server, web)
  const parts = { oidc, moves, readings: readings.domains, settings, refusedLogins, notes, secret, domains, report }
  const page = adminPage(installation, parts)
  const probe = new CookieProbe(sealed, key)
  lockdown.liftFor(domains, probe.sealing)
  return {
    page,
    check: (onOther) => probe.run(installation, certificates.CommonName, onOther),
    close: () => {
      noStop()
      moves.close()
      void oidc.close().catch(report)
    },
  }
}

/** Logs notes about the server for administrators, and returns them for the status page. */
function startNotes(server: MeshServer): readonly string[] {
  const version = String(server.currentVer)
  const untested = TESTED_VERSIONS.includes(version)
    ? []
    : [`This is MeshCentral ${version}; the plugin was tested with ${TESTED_VERSIONS.join(' and ')}.`]
  const log = logOf(server)
  for (const text of untested) log.warn('untested-version', text)
  const { reason, remedy } = SWITCHED_OFF
  const unverified = isVerificationSwitchedOff() ? [`NODE_TLS_REJECT_UNAUTHORIZED ${reason}. ${remedy}`] : []
  for (const text of unverified) warnSiteAdmins(server, text)
  return [...untested, ...unverified]
}

function reportProblem(server: MeshServer, { problem }: PluginSettings): void {
  if (problem === undefined) return
  server.authLog('OIDC', `ERROR configuration-error: ${problem}`)
  warnSiteAdmins(server, problem)
}

function mountOptions(
  { server, web, takenDomains, lockdown }: Installation,
  { CommonName }: Certificates,
  host: MeshHost,
  { presets }: PluginSettings,
): MountOptions {
  return {
    config: pluginConfig(takenDomains, {
      // Remove `*.` from the name in a wildcard certificate.
      hostName: CommonName.replace(/^\*\./, ''),
      port: web.args.aliasport ?? web.args.port,
    }),
    host: { ...host, domainOf: (req) => (lockdown.isLifted() ? host.domainOf?.(req) : undefined) },
    presets,
    unknownKeys: 'warn',
    inferPresets: true,
    configFolder: server.datapath,
    log: logOf(server),
  }
}

/** Reports problems of the configuration to site admins, and warns if `custom.password_login` locks them out. */
function reportFindings(installation: Installation, readings: readonly DomainReading[]): void {
  const { server, reading, passwordAccounts } = installation
  warnOfConfiguration(server, reading, readings)
  for (const text of [...passwordAccounts.keys()].flatMap((id) => passwordWarnings(installation, readings, id))) {
    server.authLog('OIDC', `WARN password-login-lockout: ${printableText(text)}`)
    warnSiteAdmins(server, `Single sign-on: ${text}`)
  }
}

function passwordWarnings(
  { web, takenDomains, passwordAccounts }: Installation,
  readings: readonly DomainReading[],
  id: string,
): readonly string[] {
  const names = passwordAccounts.get(id)
  const domain = takenDomains.get(id)?.domain
  const settings = readings.find(({ key }) => key === id)?.settings
  return names && domain ? passwordLoginWarnings(web.users, domain, names, Boolean(settings?.groups?.siteadmin)) : []
}

interface PageParts {
  readonly oidc: Oidc
  readonly moves: AccountMoves
  readonly readings: readonly DomainReading[]
  readonly settings: PluginSettings
  readonly refusedLogins: RefusedLogins
  /** Notes about the server's settings that an administrator should read. */
  readonly notes: readonly string[]
  readonly secret: string
  /** Ids of the domains with the plugin's single sign-on. */
  readonly domains: ReadonlySet<string>
  readonly report: (error: unknown) => void
}

function adminPage(
  installation: Installation,
  { oidc, moves, readings, settings, refusedLogins, notes, secret, domains, report }: PageParts,
): AdminPage {
  const { server, reading, clock } = installation
  const { loginTokenDays, presets } = settings
  const census = new TokenCensus(server.db, clock, domains, report)
  const tokenNotes = (id: string) =>
    loginTokenDays === null && census.hasTokens(id) ? [unlimitedTokensNote([id])] : []
  return meshAdminPage({
    server,
    secret,
    status: oidc.status,
    notes: (id) => [
      ...notes,
      ...sentencesOf(reading),
      ...passwordWarnings(installation, readings, id),
      ...tokenNotes(id),
    ],
    checks: liveChecks(readings, presets, clock, report),
    moves,
    refusedLogins,
    onFailure: report,
    now: clock.now,
  })
}

/** Shows the button of each domain with a valid configuration, and reports the others. */
function showButtons(
  server: MeshServer,
  takenDomains: ReadonlyMap<string, TakenDomain>,
  readings: readonly DomainReading[],
  oidc: Oidc,
): void {
  for (const { key: id, settings } of readings) {
    const domain = takenDomains.get(id)
    if (domain && settings && oidc.loginOptions(id).length > 0) {
      showButton(domain, settings.custom.preset, settings.groups?.sync === 'all', settings.custom)
    } else reportOff(server, `is off for ${nameOf(id)}: its \`oidc\` object has errors`)
  }
}

function nameOf(id: string): string {
  return id === '' ? 'the default domain' : `the domain "${id}"`
}

function liveChecks(
  readings: readonly DomainReading[],
  presets: PresetUrls,
  clock: Clock,
  report: (error: unknown) => void,
): LiveChecks {
  const askers = readings.flatMap(({ key: id, settings }) =>
    settings ? [[id, () => askProvider(settings, { presets })] as const] : [],
  )
  return createLiveChecks(new Map(askers), clock.now, report)
}

/** Finds out whether MeshCentral opens cookies with the plugin's `decodeCookie`. Sends a test cookie without a user. */
class CookieProbe {
  /** The plugin's sealing functions, wrapped so that they notice when the test cookie is opened. */
  readonly sealing: Sealing
  readonly #cookie: string
  #isOpened = false

  constructor(sealed: Sealing, key: Buffer) {
    this.#cookie = sealed.encodeCookie({ nouser: 1 }, key) ?? ''
    this.sealing = {
      encodeCookie: sealed.encodeCookie,
      decodeCookie: (text, ...values) => {
        this.#isOpened ||= text === this.#cookie
        return sealed.decodeCookie(text, ...values)
      },
    }
  }

  /**
   * Sends the test cookie at the server's first request. Calls `onOther` if the plugin's `decodeCookie` does not get
   * it.
   */
  run({ web, takenDomains, clock }: Installation, host: string, onOther: () => void): void {
    beforeFirstRequest(web.app, () => {
      const [first] = takenDomains.values()
      if (!first) return
      const probe = { sealed: this.#cookie, host, clock, isOpened: () => this.#isOpened }
      askForOpening(web.app, first.domain, probe, (isOpened) => {
        if (!isOpened) onOther()
      })
    })
  }
}
