import { readFile, writeFile } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { makeKey } from '../support/client-keys.ts'
import { onLoopback } from '../support/on-loopback.ts'
import { until } from '../support/until.ts'
import { pluginLines } from './support/auth-log.ts'
import { openPage } from './support/control-socket.ts'
import { type MeshSetup, setUpMesh } from './support/mesh-setup.ts'
import { createLocalAccount, sessionOf, signedIn } from './support/session.ts'

const PACKED = fileURLToPath(new URL('../../dist/meshcentral-plugin/', import.meta.url))

describe('the packed plugin', () => {
  let setup: MeshSetup
  let pluginServer: Server
  afterEach(async () => {
    await setup?.close()
    pluginServer?.closeAllConnections()
    pluginServer?.close()
  })

  /** Serves the files that `npm run pack:meshcentral -- --url` creates for this address. */
  async function servePlugin(): Promise<string> {
    pluginServer = createServer((req, res) => {
      const base = `http://127.0.0.1:${(pluginServer.address() as AddressInfo).port}/`
      const serve = async () => {
        if (req.url !== '/config.json') return readFile(join(PACKED, 'meshcompanion.zip'))
        const manifest = JSON.parse(await readFile(join(PACKED, 'meshcompanion/config.json'), 'utf8')) as object
        const places = { configUrl: `${base}config.json`, downloadUrl: `${base}meshcompanion.zip` }
        return JSON.stringify({ ...manifest, ...places, repository: { type: 'git', url: base } })
      }
      serve().then(
        (body) => res.end(body),
        () => res.writeHead(500).end(),
      )
    })
    return `${(await onLoopback(pluginServer)).url}/`
  }

  it("the plugin installs from MeshCentral's plugin page and works after a restart", async () => {
    const base = await servePlugin()
    setup = await setUpMesh({
      strategy: 'built-in',
      settings: { plugins: { enabled: true } },
      domains: { '': { members: { newAccounts: true } } },
    })
    const browser = setup.browser()
    expect(await createLocalAccount(setup, browser, 'firstadmin')).to.equal(true)
    const page = await openPage(setup, browser)
    const listed = async (matches: (plugin: Record<string, unknown>) => boolean) =>
      until('the list of plugins', async () => {
        page.send({ action: 'plugins' })
        const { list } = await page.message(({ action }) => action === 'updatePluginList')
        const latest = page.messages.findLast(({ action }) => action === 'updatePluginList')?.list ?? list
        return (latest as Record<string, unknown>[]).find(matches)
      })
    page.send({ action: 'addplugin', url: `${base}config.json` })
    const added = await listed(({ shortName }) => shortName === 'meshcompanion')
    page.send({ action: 'installplugin', id: added._id })
    await listed(({ status }) => status === 1)
    expect(page.messages.filter(({ action }) => action === 'pluginError')).to.deep.equal([])
    const line = await until('the line', async () =>
      (await pluginLines(setup)).find(({ event }) => event === 'not-taken-over'),
    )
    expect(line.message).to.include('too late')
    page.close()

    const key = makeKey('P-256', { kid: 'key-1', use: 'sig', alg: 'ES256' })
    const method = { client_id: 'keyed', token_endpoint_auth_method: 'private_key_jwt' } as const
    const domains = { '': { oidc: { client: method }, members: { oidcCredentials: { jwksFile: 'client-keys.json' } } } }
    await setup.restart({ domains }, async () => {
      const folder = setup.data.path
      // A project of ES modules: the plugin declares itself as CommonJS.
      await writeFile(join(folder, 'package.json'), '{"type":"module"}')
      await writeFile(join(folder, 'client-keys.json'), JSON.stringify({ keys: [key.private] }), { mode: 0o600 })
    })
    await setup.idp.addClient({
      ...method,
      redirect_uris: [`${setup.url}auth-oidc-callback`],
      jwks: { keys: [key.public] },
    })
    const person = setup.person()
    const visitor = await signedIn(setup, person)
    expect(sessionOf(visitor, setup.url)).to.have.property('oidcSignIn')
    expect((await openPage(setup, visitor)).user.name).to.equal(person.name)
    const { body } = await setup.browser().step(`${setup.url}auth-oidc-jwks`)
    expect(JSON.parse(body)).to.deep.equal({ keys: [key.public] })
  })
})
