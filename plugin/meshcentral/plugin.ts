import { resolve } from 'node:path'
import { systemClock as clock } from '../clock.ts'
import { checkMeshCentralServer } from '../config/meshcentral/check-server.ts'
import { unlimitedTokensNote } from '../config/meshcentral/login-tokens.ts'
import type { ServerReading } from '../config/meshcentral/server-reading.ts'
import { askProvider } from '../doctor/check-live.ts'
import { createLiveChecks } from '../doctor/live-checks.ts'
import { TESTED_VERSIONS } from '../doctor/meshcentral-members.ts'
import { deepestMessage, type Log, printableFields, printableText } from '../log.ts'
import { type MountOptions, mountOidc, type Oidc, readOptions } from '../mount/mount-oidc.ts'
import { readTextFile } from '../mount/read-text-file.ts'
import { PRESETS } from '../presets/all.ts'
import { isVerificationSwitchedOff, SWITCHED_OFF } from '../provider/http/verification.ts'
import { routePaths } from '../routes/strategy.ts'
import { logServerReading, sentencesOf, warnOfConfiguration, warnSiteAdmins } from './configuration-findings.ts'
import { type CookieKey, earlyCookieKey } from './cookie-key.ts'
import { sessionGuard } from './guard.ts'
import { meshHost } from './host.ts'
import { AccountMoves } from './moves/account-moves.ts'
import { orderWrites } from './ordered-writes.ts'
import { type AdminPage, caughtPage, meshAdminPage } from './pages/admin-page.ts'
import { PAGE_FUNCTIONS } from './pages/open-page.ts'
import { keepSocketsOpen } from './pages/password-limit.ts'
import {
  hidePasswordFields,
  type PasswordAccounts,
  PasswordLogin,
  passwordAccounts,
  passwordLoginWarnings,
} from './people/password-login.ts'
import { TokenCensus } from './people/unlimited-tokens.ts'
import { readPluginSettings } from './plugin-settings.ts'
import { answerPlainly, caught, createEndedVisits, loginVisits } from './routes.ts'
import {
  askForOpening,
  beforeFirstRequest,
  firstRoute,
  keepsSealed,
  layersOf,
  missingParts,
  type Sealing,
} from './self-test.ts'
import { isLocked, type MeshServer, type MeshUser, type MeshWeb } from './server.ts'
import { followWork } from './sessions/current-work.ts'
import { createOpenSessions } from './sessions/open-sessions.ts'
import { revokedInDatabase } from './sessions/revoked-sessions.ts'
import { sealedBySession } from './sessions/sealed-cookies.ts'
import { finishBeforeStop } from './sessions/stop-signals.ts'
import { tokenRefusals, watchTokenLogins } from './sessions/token-logins.ts'
import { type ShutDoor, shutDoor } from './shut-door.ts'
import { hideButtons, pluginConfig, routeByName, showButton, type TakenDomain, takeOver } from './take-over.ts'
import { keepCookiesFromCaches } from './uncached-cookies.ts'

const PRESET_NAMES = PRESETS.map(({ name }) => name)

/** What MeshCentral calls of a plugin. */
export interface MeshCompanion extends Partial<AdminPage> {
  hook_setupHttpHandlers(web: MeshWeb, server: MeshServer): void
  /** Called once MeshCentral has its web server, and before that has routes. */
  server_startup?(): void
  /** Names of its members that stand in the signed-in page too, as functions. */
  readonly exports?: readonly string[]
}

/**
 * The plugin as MeshCentral loads it, by the name of its folder. From here on MeshCentral itself has no OpenID Connect
 * strategy: ours takes its place once the server's routes are made, and where it cannot, the authentication log says
 * why and nobody gets in that way.
 *
 * @param pluginHandler MeshCentral's own; `parent` is the server
 */
export function meshcompanion({ parent: server }: { readonly parent: MeshServer }): MeshCompanion {
  // Installing, upgrading and Reload load it while it runs: what stands in the configuration by then is the button of
  // the first one.
  const first: unknown = Reflect.get(server, AT_WORK)
  if (first) {
    server.authLog('OIDC', `INFO already-at-work: What is at work goes on. Restart MeshCentral to load this version.`)
    return first as MeshCompanion
  }
  const companion = begin(server)
  Reflect.set(server, AT_WORK, companion)
  return companion
}

/** Each load has modules of its own; the server is the same. */
const AT_WORK = Symbol.for('meshcompanion')

function begin(server: MeshServer): MeshCompanion {
  const door = shutDoor(server, {
    onDropped: (user) =>
      server.authLog(
        'OIDC',
        `WARN session-dropped: ${printableText(user)} is signed out, and so is each other account of single sign-on where it is not at work: in a domain without an \`oidc\` object, or everywhere after not-taken-over.`,
      ),
    onMissing: (names) => turnOff(`on a request it lacks ${names.join(', ')}`),
  })
  // Before the strategies are taken out of it.
  const reading = checkMeshCentralServer(server.config, { isLoaded: true })
  const taken = hasOwnStrategy(server) ? undefined : takeOver(server.config.domains)
  const accounts = passwordAccounts(taken ?? new Map())
  hidePasswordFields(taken ?? new Map(), accounts)
  const cookieKey = taken?.size ? earlyCookieKey(server, clock) : undefined
  let isHooked = false
  let running: Installed | undefined

  /** What holds wherever the plugin is loaded, whatever becomes of it. */
  function begun(web: MeshWeb): void {
    isHooked = true
    logServerReading(server, reading)
    if (!taken?.size) warnOfConfiguration(server, reading, [])
    keepCookiesFromCaches(web)
    door.mount(web, basesOf(server))
    const passwords = new PasswordLogin({ server, accounts, clock })
    passwords.refuseSignIns(web)
    if (accounts.size > 0) web.app.use(caught(passwords.forms(web), (error) => reportFailure(server, error)))
  }

  function turnOff(what: string): void {
    door.shut()
    hideButtons(taken ?? new Map())
    running?.close()
    giveUp(server, `${UNKNOWN} ${what}`)
  }

  if (!taken)
    giveUp(
      server,
      'was loaded too late: name it in settings.plugins.list, and start MeshCentral again. Where that runs already, its built-in strategy is at work until then',
    )
  return {
    ...(taken && PAGE_FUNCTIONS),
    ...(taken && { exports: Object.keys(PAGE_FUNCTIONS) }),
    server_startup() {
      const { webserver } = server
      // MeshCentral listens once it has its routes, and calls the hook before those.
      if (!webserver?.app) return
      beforeFirstRequest(webserver.app, () => {
        if (isHooked) return
        begun(webserver)
        if (taken?.size) turnOff('it never called hook_setupHttpHandlers')
      })
    },
    hook_setupHttpHandlers(web) {
      try {
        begun(web)
        if (!taken) return
        running = cookieKey && install({ server, web, taken, accounts, cookieKey, door, reading })
        if (!running) return
        // By this very object MeshCentral finds the page.
        Object.assign(this, running.page)
        running.check(() => {
          door.voidSealed()
          turnOff('it does not open cookies by the decodeCookie that stands in the server')
        })
      } catch (error) {
        door.shut()
        giveUp(server, `failed to start: ${deepestMessage(error)}`)
      }
    },
  }
}

function basesOf({ config }: MeshServer): readonly string[] {
  return Object.values(config.domains).map(({ url }) => url)
}

/** MeshCentral marks what it has set up; OpenID Connect is this bit. */
function hasOwnStrategy({ config }: MeshServer): boolean {
  return Object.values(config.domains).some(
    ({ authstrategies }) => (Number(authstrategies?.authStrategyFlags ?? 0) & 32) !== 0,
  )
}

const UNKNOWN = 'does not know this version of MeshCentral:'

/** What stands in the way of single sign-on. Undefined: nothing. */
function obstacle(server: MeshServer, web: MeshWeb, { sealing }: ShutDoor, cookieKey: CookieKey): string | undefined {
  const unknown = (what: string) => `${UNKNOWN} ${what}`
  const missing = missingParts(server, web)
  if (missing.length > 0) return unknown(`it lacks ${missing.join(', ')}`)
  if (cookieKey.isOdd()) return unknown('what its db.Get answers has another form')
  const layers = layersOf(web.app)
  if (!layers) return unknown('it lacks the list of routes in app')
  if (firstRoute(layers, basesOf(server)) >= 0) return unknown('it had routes before it called hook_setupHttpHandlers')
  const key = cookieKey.get()
  if (!key) return 'failed to start: the database did not tell the key of cookies in time. Start MeshCentral again'
  return keepsSealed(sealing as Sealing, key)
    ? undefined
    : unknown('what encodeCookie sealed does not come back by decodeCookie as it was')
}

interface Installed {
  readonly page: AdminPage
  /** Tells, with the first request, when MeshCentral does not open by ours what is sealed. */
  check(onOther: () => void): void
  close(): void
}

interface Installation {
  readonly server: MeshServer
  readonly web: MeshWeb
  readonly taken: ReadonlyMap<string, TakenDomain>
  readonly accounts: PasswordAccounts
  readonly cookieKey: CookieKey
  readonly door: ShutDoor
  /** What is wrong with the server's own settings. */
  readonly reading: ServerReading
}

function install({ server, web, taken, accounts, cookieKey, door, reading }: Installation): Installed | undefined {
  const { certificates } = server
  const key = cookieKey.get()
  const found = obstacle(server, web, door, cookieKey)
  if (found !== undefined || !certificates || !key) {
    giveUp(server, found ?? 'failed to start')
    return undefined
  }
  orderWrites(server.db, clock)
  const version = String(server.currentVer)
  const untested = TESTED_VERSIONS.includes(version)
    ? []
    : [`This is MeshCentral ${version}; the plugin was tested with ${TESTED_VERSIONS.join(' and ')}.`]
  const log = logOf(server)
  for (const text of untested) log.warn('untested-version', text)
  const { reason, remedy } = SWITCHED_OFF
  const unverified = isVerificationSwitchedOff() ? [`NODE_TLS_REJECT_UNAUTHORIZED ${reason}. ${remedy}`] : []
  for (const text of unverified) warnSiteAdmins(server, text)
  const domains: ReadonlySet<string> = new Set(taken.keys())
  const report = (error: unknown) => reportFailure(server, error)
  const secret = key.toString('hex')
  const ended = revokedInDatabase(server.db, clock, server.multiServer ? report : undefined)
  const open = createOpenSessions(clock)
  const { sessionCheckMs, loginTokenDays, presets, problem } = readPluginSettings(server)
  const host = meshHost({
    server,
    web,
    taken,
    ended,
    open,
    secret,
    presets: PRESET_NAMES,
    clock,
    loginTokenDays,
    onFailure: report,
  })
  if (problem !== undefined) {
    server.authLog('OIDC', `ERROR configuration-error: ${problem}`)
    warnSiteAdmins(server, problem)
  }
  const options: MountOptions = {
    config: pluginConfig(taken, {
      // A certificate may be for all names below one.
      hostName: certificates.CommonName.replace(/^\*\./, ''),
      port: web.args.aliasport ?? web.args.port,
    }),
    host: { ...host, domainOf: (req) => (door.isOpen() ? host.domainOf?.(req) : undefined) },
    presets,
    unknownKeys: 'warn',
    inferPresets: true,
    configFolder: server.datapath,
    log,
  }
  const readings = readOptions(options, (file, most) => readTextFile(resolve(server.datapath, file), most), true)
  warnOfConfiguration(server, reading, readings.domains)
  const passwordWarnings = (id: string) => {
    const names = accounts.get(id)
    const { settings } = readings.domains.find(({ key }) => key === id) ?? {}
    return names ? passwordLoginWarnings(web.users, id, names, Boolean(settings?.groups?.siteadmin)) : []
  }
  for (const text of [...accounts.keys()].flatMap(passwordWarnings)) {
    server.authLog('OIDC', `WARN password-login-lockout: ${printableText(text)}`)
    warnSiteAdmins(server, `Single sign-on: ${text}`)
  }

  routeByName(taken, web)
  keepSocketsOpen(web)
  // In this order: what ended is out before any route sees it, and MeshCentral's own routes come after all of ours.
  const work = followWork(server.db)
  const sealed = sealedBySession({
    server: door.sealing as Sealing,
    ended,
    open,
    work,
    domains,
    now: clock.now,
    acceptsIssuer: host.sessions.acceptsIssuer,
  })
  const visits = createEndedVisits()
  const guard = caught(
    sessionGuard({
      sessions: host.sessions,
      open,
      domains,
      isLocked: (user) => Object.hasOwn(web.users, user) && isLocked(web.users[user] as MeshUser),
      onLocked: (user) =>
        server.authLog(
          'OIDC',
          `WARN locked-user-signed-out: ${printableText(user)} was locked by an administrator while signed in. Unlock the account to let the user in.`,
        ),
      onUncertain: visits.note,
      onFailure: report,
      work,
      now: clock.now,
    }),
    report,
  )
  watchTokenLogins({
    web,
    tokens: host.loginTokens,
    work,
    open,
    domains,
    clock,
    onRefused: tokenRefusals(server, clock),
    onFailure: report,
  })
  web.app.use(guard)
  // Tunnels come in there too, by a cookie: their sockets close with the session that it was sealed for.
  web.agentapp?.use(guard)
  const paths = new Map(
    readings.domains.map(({ key: id, settings }) => [
      id,
      routePaths(host.basePath?.(id) ?? '/', settings?.client.redirect_uri, PRESET_NAMES),
    ]),
  )
  web.app.use(caught(loginVisits({ server, web, paths, hasEnded: visits.hasEnded }), report))
  const oidc = mountOidc(web.app, options, { urlencoded: web.bodyParser.urlencoded, sessionCheckMs }, readings)
  web.app.use(answerPlainly(paths, report))
  const noStop = finishBeforeStop(() => oidc.close())

  for (const { key: id, settings } of readings.domains) {
    const domain = taken.get(id)
    if (domain && settings && isOffered(oidc, id)) {
      showButton(domain, settings.custom.preset, settings.groups?.sync === 'all', settings.custom)
    } else giveUp(server, `is off for ${nameOf(id)}: its \`oidc\` object has errors`)
  }
  const askers = new Map(
    readings.domains.flatMap(({ key: id, settings }) =>
      settings ? [[id, () => askProvider(settings, { presets })] as const] : [],
    ),
  )
  const checks = createLiveChecks(askers, clock.now, report)
  const moves = new AccountMoves({ server, web, clock, onFailure: report })
  void moves.resume()
  // Of nobody, and so of no session either.
  const census = new TokenCensus(server.db, clock, domains, report)
  const probe = sealed.encodeCookie({ nouser: 1 }, key) ?? ''
  let isOpened = false
  door.openFor(domains, {
    ...sealed,
    decodeCookie(text, ...given) {
      isOpened ||= text === probe
      return sealed.decodeCookie(text, ...given)
    },
  })
  return {
    page: caughtPage(
      meshAdminPage({
        server,
        secret,
        status: oidc.status,
        notes: (id) => [
          ...[...untested, ...unverified, ...sentencesOf(reading), ...passwordWarnings(id)],
          ...(loginTokenDays === null && census.hasTokens(id) ? [unlimitedTokensNote([id])] : []),
        ],
        checks,
        moves,
        onFailure: report,
        now: clock.now,
      }),
      report,
    ),
    check: (onOther) =>
      beforeFirstRequest(web.app, () => {
        const [first] = taken.values()
        if (!first) return
        askForOpening(
          web.app,
          first.domain,
          { sealed: probe, host: certificates.CommonName, clock, isOpened: () => isOpened },
          (isOurs) => {
            if (!isOurs) onOther()
          },
        )
      }),
    close: () => {
      noStop()
      void oidc.close().catch(report)
    },
  }
}

function isOffered(oidc: Oidc, id: string): boolean {
  return oidc.loginOptions(id).length > 0
}

function nameOf(id: string): string {
  return id === '' ? 'the default domain' : `the domain "${id}"`
}

/** Says so where an administrator looks. MeshCentral writes no authentication log unless it is told to. */
function giveUp(server: MeshServer, what: string): void {
  const text = printableText(`Single sign-on by meshcompanion ${what}.`)
  server.authLog('OIDC', `ERROR not-taken-over: ${text}`)
  warnSiteAdmins(server, `${text} See the authentication log (settings.authLog).`)
}

function reportFailure(server: MeshServer, error: unknown): void {
  server.authLog('OIDC', `ERROR internal: ${deepestMessage(error)}`)
}

/** The plugin's own lines. Never to the console: MeshCentral's launcher acts upon phrases that it reads there. */
function logOf(server: MeshServer): Log {
  const at =
    (level: string) =>
    (event: string, msg: string, fields: Readonly<Record<string, unknown>> = {}) =>
      server.authLog('OIDC', `${level} ${event}: ${printableText(msg)} ${JSON.stringify(printableFields(fields))}`)
  return { info: at('INFO'), warn: at('WARN'), error: at('ERROR') }
}
