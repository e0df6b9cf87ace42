import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { type HostOptions, type RunningHost, startHost } from '../../fixtures/host/server.ts'
import { type Idp, type IdpOptions, startIdp } from '../../fixtures/idp/server.ts'
import type { AuthLogEntry } from '../../plugin/index.ts'

export const CLIENT = { client_id: 'mesh', client_secret: 'a-client-secret-of-the-tests' }

export interface Setup {
  readonly idp: Idp
  readonly host: RunningHost
  readonly authLog: readonly AuthLogEntry[]
  /** Lines that the host and the plugin wrote. */
  readonly output: readonly string[]
  browser(): ScriptedBrowser
  close(): Promise<void>
}

export interface SetupOptions {
  /** Merged into the `oidc` object; `client` member by member. */
  readonly oidc?: Record<string, unknown>
  readonly client?: Record<string, unknown>
  /** How the IdP knows the client, where it differs. */
  readonly registered?: Record<string, unknown>
  readonly idp?: IdpOptions
  readonly host?: Omit<HostOptions, 'config'>
}

/** A provider and a reference host that uses it, the client registered: a whole login can begin. */
export async function setUp(options: SetupOptions = {}): Promise<Setup> {
  const idp = await startIdp(options.idp ?? {})
  const authLog: AuthLogEntry[] = []
  const output: string[] = []
  const host = await startHost({
    config: (port: number) => ({
      settings: { cert: '127.0.0.1', port },
      domains: {
        '': {
          authStrategies: {
            oidc: {
              issuer: idp.issuer,
              newAccounts: true,
              ...options.oidc,
              client: {
                ...CLIENT,
                redirect_uri: `http://127.0.0.1:${port}/auth-oidc-callback`,
                post_logout_redirect_uri: `http://127.0.0.1:${port}/login`,
                ...options.client,
              },
            },
          },
        },
      },
    }),
    authLog: (entry) => authLog.push(entry),
    output: { write: (line) => output.push(line) },
    ...options.host,
  })
  await idp.addClient({
    ...CLIENT,
    redirect_uris: [`${host.url}auth-oidc-callback`],
    post_logout_redirect_uris: [`${host.url}login`],
    ...options.registered,
  })
  return {
    idp,
    host,
    authLog,
    output,
    browser: () => new ScriptedBrowser(),
    close: async () => {
      await host.close()
      await idp.close()
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

/** What `GET api/me` says to the browser. */
export async function whoAmI(browser: ScriptedBrowser, hostUrl: string) {
  const { status, body } = await browser.step(`${hostUrl}api/me`)
  return { status, ...(JSON.parse(body) as { id?: string; name?: string; siteAdmin?: boolean; userGroups?: string[] }) }
}
