import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { startHost } from '../../fixtures/host/server.ts'
import { type DocumentedProvider, startDocumented } from '../../fixtures/idp/documented/documented-provider.ts'
import { checkToTheEnd } from '../../plugin/doctor/check.ts'
import type { AuthLogEntry } from '../../plugin/index.ts'
import { fetchAt } from './any-certificate-fetch.ts'
import { codeBlocks, readDocument } from './documents.ts'
import { HandTurnedClock } from './hand-turned-clock.ts'
import { makeServerFiles, type ServerFiles } from './server-files.ts'
import { whoAmI } from './sign-in-setup.ts'

/** The server's address in the documentation pages about providers. */
export const SERVER = 'https://mesh.example.org/'
const SECRET = 'a-client-secret-of-the-tests'

const NAME_UNKNOWN = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })

type Members = Readonly<Record<string, unknown>>

/** The configuration and the registered addresses in the documentation page about a provider. */
export interface PageContent {
  /** The first configuration on the page. Only `…` is replaced by an id or a secret. */
  readonly text: string
  readonly config: Members
  readonly oidc: Members & { readonly client: { readonly client_id: string; readonly client_secret: string } }
  /** Callback addresses of the server in the page's section on the provider's setup. */
  readonly redirectUris: readonly string[]
  readonly postLogoutUris: readonly string[]
}

/** @param page file name of the page in `plugin/docs/providers` */
export function readPage(page: string): PageContent {
  const markdown = readDocument(`plugin/docs/providers/${page}`)
  const [block = ''] = codeBlocks(markdown, 'json')
  const text = block
    .replaceAll('"client_id": "…"', '"client_id": "mesh"')
    .replaceAll('"client_secret": "…"', `"client_secret": "${SECRET}"`)
  const config = JSON.parse(text) as { domains: { '': { authStrategies: { oidc: PageContent['oidc'] } } } }
  const [, setup = ''] = /^## Setup.*?\n([\s\S]*?)^## /m.exec(markdown) ?? []
  const addresses = [...setup.matchAll(/https:\/\/mesh\.example\.org\/[\w/-]*/g)].map(([address]) => address)
  const isCallback = (address: string) => address.endsWith('-callback')
  return {
    text,
    config,
    oidc: config.domains[''].authStrategies.oidc,
    redirectUris: addresses.filter(isCallback),
    postLogoutUris: addresses.filter((address) => !isCallback(address) && !address.endsWith('-logout')),
  }
}

export type DocumentedSetup = Awaited<ReturnType<typeof setUp>>

export interface DocumentedOptions {
  /** Changes the `oidc` object of the page. Default: no change. */
  readonly oidc?: (fromPage: PageContent['oidc']) => Members
  /** Changes to the client metadata that the provider has registered. */
  readonly registered?: Members
}

/**
 * Starts the provider of a page, and a reference host with the page's configuration. Their host names lead to this
 * machine.
 */
async function setUp(
  provider: DocumentedProvider,
  page: PageContent,
  files: ServerFiles,
  { oidc, registered }: DocumentedOptions,
) {
  const { idp, hostNames, port } = await startDocumented(provider)
  const names = Object.fromEntries(hostNames.map((name) => [name, port]))
  const authLog: AuthLogEntry[] = []
  const { settings, domains } = page.config as { settings: Members; domains: Record<string, Members> }
  const withStrategy = (change: DocumentedOptions['oidc']) => ({
    '': { ...domains[''], ...(change ? { authStrategies: { oidc: change(page.oidc) } } : {}) },
  })
  const host = await startHost({
    config: {
      settings: { ...settings, port: 0, aliasPort: 443, certFile: files.certFile, keyFile: files.keyFile },
      domains: withStrategy(oidc),
    },
    fetch: fetchAt(names),
    clock: new HandTurnedClock(),
    authLog: (entry) => authLog.push(entry),
    output: { write: () => undefined },
    sessionCheckMs: 0,
  })
  const { client_id, client_secret } = page.oidc.client
  await idp.addClient({
    client_id,
    client_secret,
    redirect_uris: page.redirectUris,
    post_logout_redirect_uris: page.postLogoutUris,
    ...provider.registration,
    ...registered,
  })
  const open: ScriptedBrowser[] = []
  const browser = () => {
    const ports = { ...names, [new URL(SERVER).hostname]: host.port }
    const hosts = Object.fromEntries(
      Object.entries(ports).map(([name, local]) => [name, { address: '127.0.0.1', port: local }]),
    )
    const created = new ScriptedBrowser({ anyCertificate: true, hosts })
    open.push(created)
    return created
  }
  return {
    idp,
    host,
    authLog,
    browser,
    /** Signs a user in, in a new browser by default. */
    async signIn(name: string, person = browser()) {
      const linesBefore = authLog.length
      const landing = await person.login(SERVER, name, `${name}-demo`)
      const failure = authLog.slice(linesBefore).find(({ event }) => event === 'login-failed')?.fields
      return { person, landing, me: await whoAmI(person, SERVER), failure }
    },
    /** Signs the user out with the button of the server's page, and confirms if the provider asks. */
    async signOut(person: ScriptedBrowser) {
      const [form] = (await person.get(SERVER)).forms
      if (!form) throw new Error('the page of the server has no form to sign out')
      const arrived = await person.submit(form)
      const question = arrived.forms.find(({ buttons }) => buttons.some(({ name }) => name === 'logout'))
      return question ? person.submit(question, {}, 'Yes, sign me out') : arrived
    },
    /**
     * Runs the checker with `--live` on the page's configuration.
     *
     * @param change changes the `oidc` object of the configuration
     * @returns the exit code, and the lines of the live check
     */
    async checkLive(change?: DocumentedOptions['oidc']) {
      const text = change ? JSON.stringify({ settings, domains: withStrategy(change) }) : page.text
      let output = ''
      const write = (part: string) => {
        output += part
      }
      const terminal = { list: () => [], read: () => text, out: write, err: write, create: () => undefined }
      const portsByName = { ...names, [new URL(SERVER).hostname]: host.port }
      const code = await checkToTheEnd(['config.json', '--live'], terminal, {
        // A wrong issuer may have the name of a real server. Tests must not send requests to it.
        fetch: (url, init) =>
          new URL(url).hostname in portsByName
            ? fetchAt(portsByName)(url, init as RequestInit)
            : Promise.reject(NAME_UNKNOWN),
      })
      const [, below = ''] = output.split('live:\n')
      return { code, lines: below.split('\n').flatMap((line) => (line === '' ? [] : [line.trim()])) }
    },
    lines: (event: string) => authLog.filter((line) => line.event === event),
    close: async () => {
      for (const created of open) created.close()
      await host.close()
      await idp.close()
    },
  }
}

/** Returns a function that starts a setup, which is closed after the test. Call inside a `describe`. */
export function documentedSetups(pageName: string, provider: DocumentedProvider) {
  const open: DocumentedSetup[] = []
  let files: ServerFiles
  before(async () => {
    files = await makeServerFiles('documented-')
  })
  afterEach(async () => {
    for (const setup of open.splice(0)) await setup.close()
  })
  after(() => files.remove())
  return async (options: DocumentedOptions = {}): Promise<DocumentedSetup> => {
    const setup = await setUp(provider, readPage(pageName), files, options)
    open.push(setup)
    return setup
  }
}
