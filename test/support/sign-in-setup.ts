import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { type HostOptions, startHost } from '../../fixtures/host/server.ts'
import { type Idp, type IdpOptions, startIdp } from '../../fixtures/idp/server.ts'
import type { AuthLogEntry, PresetUrls } from '../../plugin/index.ts'
import { HandTurnedClock } from './hand-turned-clock.ts'

export const CLIENT = { client_id: 'mesh', client_secret: 'a-client-secret-of-the-tests' }

export type Setup = Awaited<ReturnType<typeof setUp>>

/** Where the two are. */
export interface Places {
  readonly idp: Idp
  readonly port: number
  /** With a slash at the end. */
  readonly hostUrl: string
}

type Members = Record<string, unknown>

/** Includes those of presets. */
const CALLBACKS = ['auth-oidc-callback', 'auth-oidc-azure-callback', 'auth-oidc-google-callback']

export interface SetupOptions {
  /** Merged into the `oidc` object; `client` member by member. */
  readonly oidc?: Members | ((places: Places) => Members)
  readonly client?: Members
  /** The `oidc` object as a whole: nothing is merged into it. */
  readonly exactly?: (places: Places) => Members
  /** Other members of the domain. */
  readonly domain?: Members
  /** Other members of the server's settings. */
  readonly settings?: Members
  /** How the IdP knows the client, where it differs. */
  readonly registered?: Members
  readonly idp?: IdpOptions
  /** Members of what the IdP publishes, in place of its own; undefined ones are left out. */
  readonly publishes?: Members
  /** Files of a certificate: the host is at `https://localhost` then, another site than the IdP. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string }
  readonly host?: Omit<HostOptions, 'config' | 'clock'>
  /** Base URLs instead of the vendors' own. */
  readonly presets?: (idp: Idp) => PresetUrls
}

/** A provider and a reference host that uses it, the client registered: a whole login can begin. */
export async function setUp(options: SetupOptions = {}) {
  const idp = await startIdp(options.idp ?? {})
  if (options.publishes) {
    const body = (published: unknown) => ({ ...(published as object), ...options.publishes })
    idp.faults.set('discovery', { kind: 'rewrite', body })
  }
  const clock = new HandTurnedClock()
  const authLog: AuthLogEntry[] = []
  const output: string[] = []
  const placesAt = (port: number): Places => ({
    idp,
    port,
    hostUrl: `${options.tls ? 'https://localhost' : 'http://127.0.0.1'}:${port}/`,
  })
  const host = await startHost({
    config: (port: number) => ({
      settings: { cert: '127.0.0.1', port, ...options.tls, ...options.settings },
      domains: { '': { ...options.domain, authStrategies: { oidc: oidcObject(options, placesAt(port)) } } },
    }),
    clock,
    authLog: (entry) => authLog.push(entry),
    output: { write: (line) => output.push(line) },
    // Without that a timer always waits.
    sessionCheckMs: 0,
    ...(options.presets ? { presets: options.presets(idp) } : {}),
    ...options.host,
  })
  const register = (more: Members) =>
    idp.addClient({
      ...CLIENT,
      redirect_uris: CALLBACKS.map((path) => host.url + path),
      post_logout_redirect_uris: [`${host.url}login`],
      ...options.registered,
      ...more,
    })
  await register({})
  const browser = () => new ScriptedBrowser()
  return {
    idp,
    host,
    /** The host's and the plugin's: a limit passes where a test turns it, and never by chance. */
    clock,
    authLog,
    /** Lines that the host and the plugin wrote. */
    output,
    browser,
    /** Signs a user in, in a new browser by default. */
    async signIn(name = 'alice', person = browser()) {
      const linesBefore = authLog.length
      const page = await person.login(host.url, name, `${name}-demo`)
      const failure = authLog.slice(linesBefore).find(({ event }) => event === 'login-failed')?.fields
      return {
        person,
        page,
        /** The answer of `GET api/me` afterwards. */
        me: await whoAmI(person, host.url),
        /** The line of the authentication log if this login failed. */
        failure,
      }
    },
    isIn: async (person: ScriptedBrowser) => (await whoAmI(person, host.url)).status === 200,
    /** Where a browser is sent that begins a login. */
    async redirectFrom(path = 'auth-oidc', person = browser()) {
      const { headers } = await person.step(host.url + path)
      return new URL(headers.location ?? '', host.url)
    },
    /** Has the IdP know the host's client by other metadata. */
    register,
    /** Returns these lines of the authentication log. */
    lines: (event: string) => authLog.filter((line) => line.event === event),
    close: async () => {
      await host.close()
      await idp.close()
    },
  }
}

/** Setups that are closed after each test. Call inside a `describe`. */
export function setups(): (options?: SetupOptions) => Promise<Setup> {
  const open: Setup[] = []
  afterEach(async () => {
    for (const setup of open.splice(0).reverse()) await setup.close()
  })
  return async (options) => {
    const setup = await setUp(options)
    open.push(setup)
    return setup
  }
}

function oidcObject({ oidc, client, exactly }: SetupOptions, places: Places): Members {
  if (exactly) return exactly(places)
  return {
    issuer: places.idp.issuer,
    newAccounts: true,
    ...(typeof oidc === 'function' ? oidc(places) : oidc),
    client: {
      ...CLIENT,
      redirect_uri: `${places.hostUrl}auth-oidc-callback`,
      post_logout_redirect_uri: `${places.hostUrl}login`,
      ...client,
    },
  }
}

/** Begins a login and signs in at the IdP, but stops where the browser would go to the callback: that address. */
export async function answerFromIdp(
  browser: ScriptedBrowser,
  hostUrl: string,
  username: string,
  path = 'auth-oidc',
): Promise<string> {
  const page = await browser.get(new URL(path, hostUrl).href)
  const [form] = page.forms
  if (!form) throw new Error(`no form at ${page.url}: ${page.text}`)
  const fields = form.fields.map(([name, value]): readonly [string, string] => [
    name,
    name === 'username' ? username : name === 'password' ? `${username}-demo` : value,
  ])
  let answer = await browser.step(form.action, { form: fields })
  for (let hops = 0; hops < 20; hops += 1) {
    const next = new URL(answer.headers.location ?? '', answer.url).href
    if (next.startsWith(hostUrl)) return next
    answer = await browser.step(next)
  }
  throw new Error('the IdP never sent the browser back')
}

interface SignedIn {
  readonly id: string
  readonly name: string
  readonly email: string | null
  readonly emailVerified: boolean | null
  readonly siteAdmin: boolean
  readonly userGroups: string[]
}

/** Returns the answer of `GET api/me` to the browser. */
export async function whoAmI(browser: ScriptedBrowser, hostUrl: string) {
  const { status, body } = await browser.step(`${hostUrl}api/me`)
  return { status, ...(JSON.parse(body) as Partial<SignedIn>) }
}
