import { expect } from 'chai'
import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { AD_FS } from '../../fixtures/idp/documented/ad-fs.ts'
import { AUTH0 } from '../../fixtures/idp/documented/auth0.ts'
import { AZURE_AD_B2C } from '../../fixtures/idp/documented/azure-ad-b2c.ts'
import { COGNITO } from '../../fixtures/idp/documented/cognito.ts'
import { type DocumentedProvider, startDocumented } from '../../fixtures/idp/documented/documented-provider.ts'
import { ENTRA_EXTERNAL_ID } from '../../fixtures/idp/documented/entra-external-id.ts'
import { startConnectProxy } from '../support/connect-proxy.ts'
import { readPage, SERVER } from '../support/documented-setup.ts'
import { createFolder, type FileFolder } from '../support/file-folder.ts'
import { type MeshSetup, setUpMesh } from './support/mesh-setup.ts'
import { isApp, isLoginPage } from './support/session.ts'

const PROVIDERS: readonly (readonly [page: string, provider: DocumentedProvider])[] = [
  ['ad-fs.md', AD_FS],
  ['auth0.md', AUTH0],
  ['azure-ad-b2c.md', AZURE_AD_B2C],
  ['cognito.md', COGNITO],
  ['entra-external-id.md', ENTRA_EXTERNAL_ID],
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
    })
    const ports = [...hostNames.map((name) => [name, port] as const), [new URL(SERVER).hostname, mesh.port] as const]
    const hosts = Object.fromEntries(ports.map(([name, local]) => [name, { address: '127.0.0.1', port: local }]))
    const browser = new ScriptedBrowser({ anyCertificate: true, hosts })
    open.push(browser)
    return { browser, records: mesh.data.records }
  }

  for (const [page, provider] of PROVIDERS) {
    // Shows: plugin 2.12.
    it(`an admin signs in and out on MeshCentral with the configuration of ${page}`, async () => {
      const { browser, records } = await start(page, provider)
      const app = await browser.signIn(await browser.get(`${SERVER}auth-oidc`), 'alice', 'alice-demo')
      expect(isApp(app), app.url).to.equal(true)
      const { sub } = provider.users[0] ?? { sub: '' }
      const record = (await records()).get(`user//~oidc:${sub}`)
      expect(record).to.include({ name: 'Alice Example', email: 'alice@example.test', siteadmin: 0xffffffff })
      const arrived = await browser.get(`${SERVER}logout`)
      const question = arrived.forms.find(({ buttons }) => buttons.some(({ name }) => name === 'logout'))
      const landing = question ? await browser.submit(question, {}, 'Yes, sign me out') : arrived
      expect(landing.url.split('?')[0]).to.equal(`${SERVER}login`)
      expect(isLoginPage(landing)).to.equal(true)
      const next = await browser.get(`${SERVER}auth-oidc`)
      expect(next.forms[0]?.fields.map(([name]) => name)).to.include('password')
    })
  }
})
