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
  /** What both sides are told in the same words, such as an algorithm. */
  readonly both?: Agreed
  /** How the provider knows the host, where it differs. */
  readonly registered?: Partial<ClientRegistration>
  /** Members of the `client` object here, which win. */
  readonly client?: Members
  readonly groups?: Members
  readonly custom?: Members
  /** Of the `oidc` object, which win. */
  readonly oidc?: Members
  /** Null: none. Default: a long one of plain letters. */
  readonly secret?: string | null
  /**
   * Private keys of the host; it publishes their public halves, and the provider is told where unless it is told
   * otherwise.
   */
  readonly keys?: readonly ClientKeyPair[]
  /**
   * The provider tells the host when sessions end, and which if it says that it needs that. Default: it tells nothing.
   */
  readonly backchannel?: { readonly sessionRequired: boolean }
  readonly host?: Omit<HostOptions, 'config' | 'port'>
  /** Makes the host known to the provider in another way than the port's. */
  readonly register?: (url: string) => Promise<Registered>
  /** What happens between the registration and the start of the host. */
  readonly beforeHost?: () => Promise<void>
}

/** A reference host on 127.0.0.1 that uses a real provider. */
export interface Lab {
  readonly idp: RealIdp
  readonly host: RunningHost
  readonly registered: Registered
  /** The host's whole configuration. */
  readonly config: unknown
  readonly authLog: readonly AuthLogEntry[]
  browser(): ScriptedBrowser
  /** Goes to the host's sign-in address, through the provider, to wherever that ends. */
  signIn(person: Person, browser?: ScriptedBrowser): Promise<SignInVisit>
  /** Ends the session here, and goes on to wherever the provider leads. */
  signOut(browser: ScriptedBrowser): Promise<Page>
  /** What the host says of the browser: `api/me`. */
  whoIs(browser: ScriptedBrowser): ReturnType<typeof whoAmI>
  /** What the provider says of the browser's session: `api/session`. */
  stateOf(browser: ScriptedBrowser): Promise<string>
  /** Warnings and errors so far, for the message of an assertion too. */
  complaints(): readonly AuthLogEntry[]
  close(): Promise<void>
}

export interface SignInVisit {
  readonly browser: ScriptedBrowser
  readonly page: Page
  /** All addresses that the browser went through. */
  readonly trail: readonly URL[]
  readonly who: Awaited<ReturnType<typeof whoAmI>>
  /** The line of the authentication log that tells why it failed. */
  readonly failure: AuthLogEntry | undefined
}

/** Long enough for each algorithm that makes a key of it. */
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
  const browser = () => {
    const made = new ScriptedBrowser(idp.secure ? { ca: idp.secure.ca } : {})
    browsers.push(made)
    return made
  }
  return {
    idp,
    host,
    registered,
    config,
    authLog,
    browser,
    async signIn(person, who = browser()) {
      const first = await who.get(`${url}auth-oidc`)
      const page = await postFragment(who, await idp.signIn(who, first, person), url)
      const addresses = page === first ? first.trail : [...first.trail, ...page.trail]
      const trail = addresses.map((address) => new URL(address))
      trails.push(...trail)
      const failure = authLog.findLast(({ event }) => event === 'login-failed')
      return { browser: who, page, trail, who: await whoAmI(who, url), failure }
    },
    signOut: async (who) => idp.confirmLogout(who, await who.get(`${url}logout`)),
    whoIs: (who) => whoAmI(who, url),
    stateOf: async (who) => JSON.parse((await who.step(`${url}api/session`)).body).state,
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
 * Does what the script of the host's page does that an answer in the fragment leads to: posts it to the same address.
 * `test/browser/fragment.test.ts` has that page in a real browser.
 */
async function postFragment(browser: ScriptedBrowser, page: Page, url: string): Promise<Page> {
  const { hash, href } = new URL(page.url)
  if (hash.length < 2 || !href.startsWith(`${url}auth-oidc-callback`)) return page
  return browser.get(href.slice(0, -hash.length), { form: [...new URLSearchParams(hash.slice(1))] })
}

/** Tells the provider of a host at an address. */
export async function introduce(idp: RealIdp, url: string, options: LabOptions): Promise<Registered> {
  const { both, registered, secret = SECRET, keys = [], backchannel } = options
  const credentials = { client_id: 'mesh', ...(secret === null ? {} : { client_secret: secret }) }
  const its = await idp.register({
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
  return { ...credentials, ...its }
}

function keysOf({ keysByValue }: RealIdp, url: string, keys: readonly ClientKeyPair[]): Partial<ClientRegistration> {
  return keysByValue ? { jwks: { keys: keys.map((key) => key.public) } } : { jwks_uri: `${url}auth-oidc-jwks` }
}

/** The `oidc` object of a host at an address. */
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

/** Nobody who reads the logs can take over a client or a login. */
function expectNoSecret(text: string, { client_secret = '' }: Registered, trail: readonly URL[]): void {
  const names = ['code', 'state', 'id_token', 'id_token_hint', 'request']
  const passing = trail.flatMap(({ searchParams }) => names.flatMap((name) => searchParams.getAll(name)))
  const secrets = [...passing, client_secret].filter(({ length }) => length > 7)
  expect(secrets.filter((secret) => text.includes(secret))).to.deep.equal([])
}
