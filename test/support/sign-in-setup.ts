import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { type HostOptions, startHost } from '../../fixtures/host/server.ts'
import { type Idp, type IdpOptions, startIdp } from '../../fixtures/idp/server.ts'
import type { AuthLogEntry, PresetUrls } from '../../plugin/index.ts'
import { HandTurnedClock } from './hand-turned-clock.ts'

export const CLIENT = { client_id: 'mesh', client_secret: 'a-client-secret-of-the-tests' }

export type Setup = Awaited<ReturnType<typeof setUp>>

/** The IdP and the address of the host. */
export interface Places {
  readonly idp: Idp
  readonly port: number
  /** Address of the host, with a slash at the end. */
  readonly hostUrl: string
}

type Members = Record<string, unknown>

/** The callback paths, including those of presets. */
const CALLBACKS = ['auth-oidc-callback', 'auth-oidc-azure-callback', 'auth-oidc-google-callback']

export interface SetupOptions {
  /** Merged into the `oidc` object of the configuration. Use `client` for the members of its `client` object. */
  readonly oidc?: Members | ((places: Places) => Members)
  readonly client?: Members
  /** Returns the whole `oidc` object. Nothing is merged into it. */
  readonly exactly?: (places: Places) => Members
  /** Other members of the domain. */
  readonly domain?: Members
  /** Other members of the server's settings. */
  readonly settings?: Members
  /** Client metadata that the IdP registers in addition. */
  readonly registered?: Members
  readonly idp?: IdpOptions
  /** Members that replace those in the IdP's discovery document. Undefined members are removed from it. */
  readonly publishes?: Members
  /** Files of a certificate. With them, the host is at `https://localhost`, which is another site than the IdP. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string }
  readonly host?: Omit<HostOptions, 'config' | 'clock'>
  /** Returns base URLs for presets, instead of the vendors' own. */
  readonly presets?: (idp: Idp) => PresetUrls
}

/** Starts an IdP and a reference host that is registered as its client, so that users can sign in. */
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
    // Off, because otherwise a timer would always be pending.
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
    /** The clock of the host and the plugin. A time limit only passes when a test advances this clock. */
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
        /** The answer of `GET api/me` after the login. */
        me: await whoAmI(person, host.url),
        /** The line of the authentication log if this login failed. */
        failure,
      }
    },
    isIn: async (person: ScriptedBrowser) => (await whoAmI(person, host.url)).status === 200,
    /** Starts a login in a browser, and returns the address to which the host redirects it. */
    async redirectFrom(path = 'auth-oidc', person = browser()) {
      const { headers } = await person.step(host.url + path)
      return new URL(headers.location ?? '', host.url)
    },
    /** Changes the metadata of the host's client at the IdP. */
    register,
    /** Returns the lines of an event in the authentication log. */
    lines: (event: string) => authLog.filter((line) => line.event === event),
    close: async () => {
      await host.close()
      await idp.close()
    },
  }
}

/** Returns a function that starts a setup, which is closed after the test. Call inside a `describe`. */
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

/**
 * Starts a login and signs the user in at the IdP, but does not follow the redirect to the callback. Returns the
 * address of that redirect.
 */
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
