import { expect } from 'chai'
import { type Page, ScriptedBrowser } from '../../../fixtures/browser.ts'
import { type HostOptions, type RunningHost, startHost } from '../../../fixtures/host/server.ts'
import type { AuthLogEntry } from '../../../plugin/index.ts'
import { type ClientKeyPair, createClientFolder } from '../../support/client-keys.ts'
import { freePort } from '../../support/host-process.ts'
import { whoAmI } from '../../support/sign-in-setup.ts'
import type { Person } from './people.ts'
import type { Agreed, ClientRegistration, RealIdp, Registered } from './real-idp.ts'

type Members = Readonly<Record<string, unknown>>

export interface LabOptions {
  /** Registration members that both sides receive, such as an algorithm. */
  readonly both?: Agreed
  /** Changes to the provider's registration of the client. */
  readonly registered?: Partial<ClientRegistration>
  /** Members of the host's `client` object. These take precedence. */
  readonly client?: Members
  readonly groups?: Members
  readonly custom?: Members
  /** Members of the `oidc` object. These take precedence. */
  readonly oidc?: Members
  /** Null: no secret. Default: a long one of plain letters. */
  readonly secret?: string | null
  /** Private keys of the host. It publishes the public halves, and by default the provider receives their address. */
  readonly keys?: readonly ClientKeyPair[]
  /**
   * Whether the provider notifies the host when sessions end, and whether it must name the session. Default: no
   * notification.
   */
  readonly backchannel?: { readonly sessionRequired: boolean }
  readonly host?: Omit<HostOptions, 'config' | 'port'>
  /** Registers the host at the provider in another way than `RealIdp.register`. */
  readonly register?: (url: string) => Promise<Registered>
  /** Runs between the registration and the start of the host. */
  readonly beforeHost?: () => Promise<void>
}

/** A reference host on 127.0.0.1 that uses a real provider. */
export interface Lab {
  readonly idp: RealIdp
  readonly host: RunningHost
  readonly registered: Registered
  /** The whole configuration of the host. */
  readonly config: unknown
  readonly authLog: readonly AuthLogEntry[]
  browser(): ScriptedBrowser
  /** Opens the host's sign-in address and follows the login through the provider to its end. */
  signIn(person: Person, browser?: ScriptedBrowser): Promise<SignInVisit>
  /** Ends the host's session and follows the provider's pages. */
  signOut(browser: ScriptedBrowser): Promise<Page>
  /** The identity that the host reports for the browser: `api/me`. */
  whoIs(browser: ScriptedBrowser): ReturnType<typeof whoAmI>
  /** The state of the browser's session at the provider: `api/session`. */
  stateOf(browser: ScriptedBrowser): Promise<string>
  /** Warnings and errors so far. */
  complaints(): readonly AuthLogEntry[]
  close(): Promise<void>
}

export interface SignInVisit {
  readonly browser: ScriptedBrowser
  readonly page: Page
  /** All addresses that the browser visited. */
  readonly trail: readonly URL[]
  readonly me: Awaited<ReturnType<typeof whoAmI>>
  /** The log line with the cause of the failed login. */
  readonly failure: AuthLogEntry | undefined
}

/** Long enough for each algorithm that derives a key from it. */
const SECRET = 'a-client-secret-of-the-matrix-which-is-long-enough-for-any-algorithm-1'

export async function startLab(idp: RealIdp, options: LabOptions = {}): Promise<Lab> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}/`
  const folder = await createClientFolder()
  const { keys = [] } = options
  const registered = await (options.register?.(url) ?? introduce(idp, url, options))
  await options.beforeHost?.()
  const authLog: AuthLogEntry[] = []
  const output: string[] = []
  const config = {
    settings: { cert: '127.0.0.1' },
    domains: { '': { authStrategies: { oidc: oidcObject(idp, registered, url, options) } } },
  }
  const host = await startHost({
    port,
    config,
    authLog: (entry) => authLog.push(entry),
    output: { write: (line) => output.push(line) },
    ...(keys.length > 0 ? { credentials: { '': { jwksFile: await folder.writeKeys(keys) } } } : {}),
    ...options.host,
  })
  const browsers: ScriptedBrowser[] = []
  const trails: URL[] = []
  const openBrowser = () => {
    const browser = new ScriptedBrowser(idp.secure ? { ca: idp.secure.ca } : {})
    browsers.push(browser)
    return browser
  }
  return {
    idp,
    host,
    registered,
    config,
    authLog,
    browser: openBrowser,
    async signIn(person, browser = openBrowser()) {
      const first = await browser.get(`${url}auth-oidc`)
      const page = await postFragment(browser, await idp.signIn(browser, first, person), url)
      const addresses = page === first ? first.trail : [...first.trail, ...page.trail]
      const trail = addresses.map((address) => new URL(address))
      trails.push(...trail)
      const failure = authLog.findLast(({ event }) => event === 'login-failed')
      return { browser, page, trail, me: await whoAmI(browser, url), failure }
    },
    signOut: async (browser) => idp.confirmLogout(browser, await browser.get(`${url}logout`)),
    whoIs: (browser) => whoAmI(browser, url),
    stateOf: async (browser) => JSON.parse((await browser.step(`${url}api/session`)).body).state,
    complaints: () => authLog.filter(({ level }) => level !== 'info'),
    async close() {
      for (const open of browsers) open.close()
      await host.close()
      await folder.remove()
      expectNoSecret([...output, JSON.stringify(authLog)].join('\n'), registered, trails)
    },
  }
}

/**
 * Posts an answer in the fragment to the same address, as the script of the host's page does.
 * `test/browser/fragment.test.ts` has that page in a real browser.
 */
async function postFragment(browser: ScriptedBrowser, page: Page, url: string): Promise<Page> {
  const { hash, href } = new URL(page.url)
  if (hash.length < 2 || !href.startsWith(`${url}auth-oidc-callback`)) return page
  return browser.get(href.slice(0, -hash.length), { form: [...new URLSearchParams(hash.slice(1))] })
}

/** Registers a host at the provider. */
export async function introduce(idp: RealIdp, url: string, options: LabOptions): Promise<Registered> {
  const { both, registered, secret = SECRET, keys = [], backchannel } = options
  const credentials = { client_id: 'mesh', ...(secret === null ? {} : { client_secret: secret }) }
  const assigned = await idp.register({
    ...credentials,
    redirect_uris: [`${url}auth-oidc-callback`],
    post_logout_redirect_uris: [`${url}login`],
    ...(keys.length > 0 && registered?.jwks === undefined ? keysOf(idp, url, keys) : {}),
    ...(backchannel
      ? {
          backchannel_logout_uri: `${url}auth-oidc-backchannel-logout`,
          backchannel_logout_session_required: backchannel.sessionRequired,
        }
      : {}),
    ...both,
    ...registered,
  })
  return { ...credentials, ...assigned }
}

function keysOf({ keysByValue }: RealIdp, url: string, keys: readonly ClientKeyPair[]): Partial<ClientRegistration> {
  return keysByValue ? { jwks: { keys: keys.map((key) => key.public) } } : { jwks_uri: `${url}auth-oidc-jwks` }
}

/** Returns the `oidc` object of a host. */
export function oidcObject(idp: RealIdp, registered: Registered, url: string, options: LabOptions): Members {
  const { groups: itsGroups, custom: itsCustom, ...more } = registered.oidc ?? {}
  return {
    issuer: idp.issuer,
    newAccounts: true,
    ...more,
    ...(options.groups ? { groups: { ...(itsGroups as Members), ...options.groups } } : {}),
    ...(itsCustom || options.custom ? { custom: { ...(itsCustom as Members), ...options.custom } } : {}),
    client: {
      client_id: registered.client_id,
      ...(registered.client_secret === undefined ? {} : { client_secret: registered.client_secret }),
      redirect_uri: `${url}auth-oidc-callback`,
      post_logout_redirect_uri: `${url}login`,
      ...registered.client,
      ...options.both,
      ...options.client,
    },
    ...options.oidc,
  }
}

/** Expects no log line to contain a secret that would let a reader take over a client or a login. */
function expectNoSecret(text: string, { client_secret = '' }: Registered, trail: readonly URL[]): void {
  const names = ['code', 'state', 'id_token', 'id_token_hint', 'request']
  const passing = trail.flatMap(({ searchParams }) => names.flatMap((name) => searchParams.getAll(name)))
  const secrets = [...passing, client_secret].filter(({ length }) => length > 7)
  expect(secrets.filter((secret) => text.includes(secret))).to.deep.equal([])
}
