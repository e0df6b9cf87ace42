import { systemClock as clock } from '../clock.ts'
import { checkMeshCentralServer } from '../config/meshcentral/check-server.ts'
import type { ServerReading } from '../config/meshcentral/server-reading.ts'
import { deepestMessage, printableText } from '../log.ts'
import { Lockdown } from './lockdown.ts'
import type { AdminPage } from './pages/admin-page.ts'
import { PAGE_FUNCTIONS } from './pages/open-page.ts'
import { hidePasswordFields, type PasswordAccounts, PasswordLogin, passwordAccounts } from './people/password-login.ts'
import { caught } from './routes.ts'
import { beforeFirstRequest } from './self-test.ts'
import type { MeshServer, MeshWeb } from './server.ts'
import { logServerReading, warnOfConfiguration } from './start/configuration-findings.ts'
import { type CookieKey, earlyCookieKey } from './start/cookie-key.ts'
import { type Installed, install } from './start/install.ts'
import { basesOf, UNKNOWN_VERSION } from './start/obstacle.ts'
import { reportFailure, reportOff } from './start/server-log.ts'
import { hideButtons, type TakenDomain, takeOver } from './start/take-over.ts'
import { keepCookiesFromCaches } from './uncached-cookies.ts'

/** The members that MeshCentral calls on a plugin. */
export interface MeshCompanion extends Partial<AdminPage> {
  hook_setupHttpHandlers(web: MeshWeb, server: MeshServer): void
  /** MeshCentral calls this after it created its web server and before it adds routes. */
  server_startup?(): void
  /** Names of the plugin's functions that MeshCentral copies as text into its page for signed-in users. */
  readonly exports?: readonly string[]
}

/**
 * The member of MeshCentral's server object that holds the running plugin. It is not a module variable, because each
 * load of the plugin has its own modules.
 */
const LOADED: unique symbol = Symbol.for('meshcompanion')
type LoadedServer = MeshServer & { [LOADED]?: MeshCompanion }

/**
 * Loads the plugin and removes MeshCentral's own OpenID Connect strategy. MeshCentral calls the export that is named
 * like the plugin's folder. If the plugin's strategy then fails, no user can sign in through an IdP, and the
 * authentication log says why.
 *
 * @param pluginHandler its `parent` is the server
 */
export function meshcompanion({ parent: server }: { readonly parent: LoadedServer }): MeshCompanion {
  // MeshCentral loads the plugin again after an upgrade, for example. It cannot start twice, because its first start
  // removed the `oidc` objects from the configuration.
  const loaded = server[LOADED]
  if (loaded) {
    server.authLog(
      'OIDC',
      'INFO already-at-work: The running version of the plugin continues. Restart MeshCentral to load this version.',
    )
    return loaded
  }
  const start = new PluginStart(server)
  const companion: MeshCompanion = {
    ...(start.hasTakenOver && PAGE_FUNCTIONS),
    ...(start.hasTakenOver && { exports: Object.keys(PAGE_FUNCTIONS) }),
    server_startup: () => start.watchForHook(),
    hook_setupHttpHandlers(web) {
      // MeshCentral looks for the handlers of the administrator's page on this object.
      Object.assign(companion, start.setUp(web))
    },
  }
  server[LOADED] = companion
  return companion
}

/**
 * The start of the plugin in one MeshCentral server. Until it runs, the {@link Lockdown} refuses the users of single
 * sign-on. The states:
 *
 * - *Loaded*: the `oidc` objects are removed from the configuration, and the lockdown applies to all domains. If
 *   MeshCentral has already set up its own strategy, the plugin stays off and reports that.
 * - *Hooked*, once MeshCentral calls `hook_setupHttpHandlers`: the lockdown can refuse requests too, because
 *   MeshCentral has routes now, and no cache may store answers that set cookies. If MeshCentral never calls the hook,
 *   the plugin does the same before the first request, and stays off.
 * - *Running*, if MeshCentral has all members that single sign-on needs: the lockdown is lifted for the plugin's
 *   domains.
 * - *Off*, after a failure: the lockdown is complete again, and the buttons are gone. Only a restart leaves this state.
 */
class PluginStart {
  readonly #server: MeshServer
  readonly #lockdown: Lockdown
  readonly #reading: ServerReading
  /**
   * The domains with the plugin's single sign-on. Undefined if MeshCentral had already set up its own strategy
   * when the plugin was loaded.
   */
  readonly #takenDomains: ReadonlyMap<string, TakenDomain> | undefined
  /** The accounts that may use passwords in domains with `custom.password_login`. */
  readonly #passwordAccounts: PasswordAccounts
  /** MeshCentral's key for sealed cookies. Undefined if no domain has an `oidc` object. */
  readonly #cookieKey: CookieKey | undefined
  #isHooked = false
  #running: Installed | undefined

  constructor(server: MeshServer) {
    this.#server = server
    this.#lockdown = new Lockdown(server, {
      onDropped: (user) =>
        server.authLog(
          'OIDC',
          `WARN session-dropped: ${printableText(user)} was signed out, because single sign-on is off in the account's domain: the domain has no \`oidc\` object, or a line not-taken-over says why. Other single sign-on accounts of such domains are signed out too, without a line.`,
        ),
      onMissing: (names) => this.#turnOff(`on a request it lacks ${names.join(', ')}`),
    })
    // Check the configuration now, because the next step removes the `oidc` objects from it.
    this.#reading = checkMeshCentralServer(server.config, { isLoaded: true })
    this.#takenDomains = hasOwnStrategy(server) ? undefined : takeOver(server.config.domains)
    this.#passwordAccounts = passwordAccounts(this.#takenDomains ?? new Map())
    hidePasswordFields(this.#takenDomains ?? new Map(), this.#passwordAccounts)
    this.#cookieKey = this.#takenDomains?.size ? earlyCookieKey(server, clock) : undefined
    if (this.#takenDomains) return
    reportOff(
      server,
      "was loaded too late, so MeshCentral's built-in strategy is active. Check that settings.plugins.list names meshcompanion, then restart MeshCentral",
    )
  }

  get hasTakenOver(): boolean {
    return this.#takenDomains !== undefined
  }

  /** Turns the plugin off before the first request if MeshCentral never calls `hook_setupHttpHandlers`. */
  watchForHook(): void {
    const { webserver } = this.#server
    // MeshCentral calls `hook_setupHttpHandlers` before it adds its routes, and listens for requests only afterwards.
    if (!webserver?.app) return
    beforeFirstRequest(webserver.app, () => {
      if (this.#isHooked) return
      this.#protect(webserver)
      if (this.#takenDomains?.size) this.#turnOff('it never called hook_setupHttpHandlers')
    })
  }

  /**
   * Sets up single sign-on.
   *
   * @returns the handlers of the administrator's page, or undefined if the plugin is off
   */
  setUp(web: MeshWeb): AdminPage | undefined {
    const [server, takenDomains, cookieKey] = [this.#server, this.#takenDomains, this.#cookieKey]
    try {
      this.#protect(web)
      if (!takenDomains || !cookieKey) return undefined
      const running = install({
        server,
        web,
        takenDomains,
        passwordAccounts: this.#passwordAccounts,
        cookieKey,
        lockdown: this.#lockdown,
        reading: this.#reading,
        clock,
      })
      this.#running = running
      running?.check(() => {
        this.#lockdown.voidSealed()
        this.#turnOff("it does not open cookies with the server's decodeCookie")
      })
      return running?.page
    } catch (error) {
      this.#lockdown.restore()
      reportOff(server, `failed to start: ${deepestMessage(error)}`)
      return undefined
    }
  }

  /**
   * Installs the {@link Lockdown}, the rules for passwords, and the protection of cookies from caches. All of them
   * apply even if single sign-on stays off.
   */
  #protect(web: MeshWeb): void {
    const [server, reading] = [this.#server, this.#reading]
    this.#isHooked = true
    logServerReading(server, reading)
    if (!this.#takenDomains?.size) warnOfConfiguration(server, reading, [])
    keepCookiesFromCaches(web)
    this.#lockdown.mount(web, basesOf(server))
    const accounts = this.#passwordAccounts
    const passwords = new PasswordLogin({ server, accounts, clock })
    passwords.refuseSignIns(web)
    if (accounts.size > 0) web.app.use(caught(passwords.forms(web), (error) => reportFailure(server, error)))
  }

  /**
   * Turns single sign-on off.
   *
   * @param difference how this MeshCentral differs from the tested versions, as the end of a log line
   */
  #turnOff(difference: string): void {
    this.#lockdown.restore()
    hideButtons(this.#takenDomains ?? new Map())
    this.#running?.close()
    reportOff(this.#server, `${UNKNOWN_VERSION} ${difference}`)
  }
}

/** Whether MeshCentral has set up its own strategy. It marks strategies with bits; 32 is OpenID Connect. */
function hasOwnStrategy({ config }: MeshServer): boolean {
  return Object.values(config.domains).some(
    ({ authstrategies }) => (Number(authstrategies?.authStrategyFlags ?? 0) & 32) !== 0,
  )
}
