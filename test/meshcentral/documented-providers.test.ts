import { expect } from 'chai'
import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { AD_FS } from '../../fixtures/idp/documented/ad-fs.ts'
import { AUTH0 } from '../../fixtures/idp/documented/auth0.ts'
import { AZURE_AD_B2C } from '../../fixtures/idp/documented/azure-ad-b2c.ts'
import { COGNITO } from '../../fixtures/idp/documented/cognito.ts'
import { type DocumentedProvider, startDocumented } from '../../fixtures/idp/documented/documented-provider.ts'
import { ENTRA_EXTERNAL_ID } from '../../fixtures/idp/documented/entra-external-id.ts'
import { JUMPCLOUD } from '../../fixtures/idp/documented/jumpcloud.ts'
import { KANIDM } from '../../fixtures/idp/documented/kanidm.ts'
import { ONELOGIN } from '../../fixtures/idp/documented/onelogin.ts'
import { SYNOLOGY } from '../../fixtures/idp/documented/synology.ts'
import { startConnectProxy } from '../support/connect-proxy.ts'
import { readPage, SERVER } from '../support/documented-setup.ts'
import { createFolder, type FileFolder } from '../support/file-folder.ts'
import { type MeshSetup, setUpMesh } from './support/mesh-setup.ts'
import { isApp, isLoginPage } from './support/session.ts'

interface Expected {
  /** The name of the administrator's account. */
  readonly name: string
  /** The page after a sign-out. */
  readonly landing: string
  /** Whether the provider asks for the password at the next login. */
  readonly asksAgain: boolean
}

const USUAL: Expected = { name: 'Alice Example', landing: `${SERVER}login`, asksAgain: true }

const PROVIDERS: readonly (readonly [page: string, provider: DocumentedProvider, expected?: Partial<Expected>])[] = [
  ['ad-fs.md', AD_FS],
  ['auth0.md', AUTH0],
  ['azure-ad-b2c.md', AZURE_AD_B2C],
  ['cognito.md', COGNITO],
  ['entra-external-id.md', ENTRA_EXTERNAL_ID],
  ['jumpcloud.md', JUMPCLOUD, { asksAgain: false }],
  ['kanidm.md', KANIDM, { landing: 'https://idm.example.org/ui/login' }],
  ['onelogin.md', ONELOGIN],
  ['synology.md', SYNOLOGY, { name: 'alice', asksAgain: false }],
]

describe('the configurations of documented providers on MeshCentral', () => {
  const open: { close(): unknown }[] = []
  let mesh: MeshSetup | undefined
  let folder: FileFolder
  before(async () => {
    folder = await createFolder('documented')
  })
  afterEach(async () => {
    for (const part of open.splice(0).reverse()) await part.close()
  })
  after(async () => {
    await mesh?.close()
    await folder.remove()
  })

  /**
   * Starts a provider, and MeshCentral with the configuration of its page. Their names lead to this machine. One data
   * folder serves all pages, because MeshCentral takes seconds to make certificates for its name.
   */
  async function start(pageName: string, provider: DocumentedProvider) {
    const page = readPage(pageName)
    const { idp, ca, port, hostNames } = await startDocumented(provider)
    open.push(idp)
    const proxy = await startConnectProxy({ to: port })
    open.push(proxy)
    const options = {
      settings: { ...(page.config.settings as object), aliasPort: 443 },
      domains: { '': { exactly: () => page.oidc } },
      env: {
        HTTPS_PROXY: `http://127.0.0.1:${proxy.port}`,
        NODE_EXTRA_CA_CERTS: await folder.write(`${pageName}.pem`, ca),
      },
    }
    if (mesh) await mesh.restart(options)
    else mesh = await setUpMesh({ sharedIdp: idp, ...options })
    const { client_id, client_secret } = page.oidc.client
    await idp.addClient({
      client_id,
      client_secret,
      redirect_uris: page.redirectUris,
      post_logout_redirect_uris: page.postLogoutUris,
      ...provider.registration,
    })
    const ports = [...hostNames.map((name) => [name, port] as const), [new URL(SERVER).hostname, mesh.port] as const]
    const hosts = Object.fromEntries(ports.map(([name, local]) => [name, { address: '127.0.0.1', port: local }]))
    const browser = new ScriptedBrowser({ anyCertificate: true, hosts })
    open.push(browser)
    return { browser, records: mesh.data.records }
  }

  for (const [page, provider, special] of PROVIDERS) {
    const { name, landing, asksAgain } = { ...USUAL, ...special }
    // Shows: plugin 2.12.
    it(`an admin signs in and out on MeshCentral with the configuration of ${page}`, async () => {
      const { browser, records } = await start(page, provider)
      const app = await browser.signIn(await browser.get(`${SERVER}auth-oidc`), 'alice', 'alice-demo')
      expect(isApp(app), app.url).to.equal(true)
      const { sub } = provider.users[0] ?? { sub: '' }
      const record = (await records()).get(`user//~oidc:${sub}`)
      expect(record).to.include({ name, email: 'alice@example.test', siteadmin: 0xffffffff })
      const arrived = await browser.get(`${SERVER}logout`)
      const question = arrived.forms.find(({ buttons }) => buttons.some(({ name }) => name === 'logout'))
      const last = question ? await browser.submit(question, {}, 'Yes, sign me out') : arrived
      expect(last.url.split('?')[0]).to.equal(landing)
      expect(isLoginPage(last)).to.equal(landing.startsWith(SERVER))
      expect(isApp(await browser.get(SERVER))).to.equal(false)
      const next = await browser.get(`${SERVER}auth-oidc`)
      expect(isApp(next)).to.equal(!asksAgain)
      expect(next.forms.some(({ fields }) => fields.some(([field]) => field === 'password'))).to.equal(asksAgain)
    })
  }
})
