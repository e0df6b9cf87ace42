import { readFile, writeFile } from 'node:fs/promises'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect } from 'chai'
import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { type Idp, startIdp } from '../../fixtures/idp/server.ts'
import { freePort, startHostProcess } from '../support/host-process.ts'
import { answerFromIdp, CLIENT } from '../support/sign-in-setup.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'

describe('The reference host as a process', () => {
  let idp: Idp
  const folder = temporaryFolder()
  beforeEach(async () => {
    idp = await startIdp({})
  })
  afterEach(() => idp.close())

  it('the reference host reads the client secret from a file beside its configuration', async () => {
    const port = await freePort()
    const url = `http://127.0.0.1:${port}/`
    const client = { client_id: 'mesh', client_secret_file: 'oidc-secret', redirect_uri: `${url}auth-oidc-callback` }
    const oidc = { issuer: idp.issuer, client, newAccounts: true }
    await writeFile(folder.path('oidc-secret'), `${CLIENT.client_secret}\n`)
    await writeFile(
      folder.path('config.json'),
      JSON.stringify({ settings: { cert: '127.0.0.1' }, domains: { '': { authStrategies: { oidc } } } }),
    )
    await idp.addClient({ ...CLIENT, redirect_uris: [client.redirect_uri] })
    const { lines, stop } = await startHostProcess(folder.path('config.json'), port)
    const browser = new ScriptedBrowser()
    expect((await browser.login(url, 'alice', 'alice-demo')).url).to.equal(url)
    browser.close()
    expect(await stop()).to.equal(0)
    expect(JSON.stringify(lines)).to.not.include(CLIENT.client_secret)
  })

  it('the reference host logs good, failed and hostile logins without secrets', async () => {
    const probe = await freePort()
    const url = `http://127.0.0.1:${probe}/`
    const config = folder.path('config.json')
    const client = { ...CLIENT, redirect_uri: `${url}auth-oidc-callback` }
    await writeFile(
      config,
      JSON.stringify({
        settings: { cert: '127.0.0.1' },
        // A deprecated key on purpose: its warning belongs to the authentication log.
        domains: {
          '': {
            authStrategies: { oidc: { issuer: idp.issuer, client, scope: 'openid profile email', newAccounts: true } },
          },
        },
      }),
    )
    await idp.addClient({ ...CLIENT, redirect_uris: [client.redirect_uri] })
    const { lines, stop } = await startHostProcess(config, probe)
    const browser = new ScriptedBrowser()
    const answer = await answerFromIdp(browser, url, 'alice')
    expect((await browser.step(answer)).headers.location).to.equal('/')
    const stranger = new ScriptedBrowser()
    await stranger.step(answer)
    await stranger.step(`${url}auth-oidc-callback?state=%0d%0a%1b[31mforged&error=%3Cscript%3E`)
    browser.close()
    stranger.close()
    expect(await stop()).to.equal(0)

    const schema = JSON.parse(await readFile('fixtures/log-line.schema.json', 'utf8'))
    const holds = new Ajv2020({ allowUnionTypes: true, strict: false }).compile(schema)
    for (const line of lines) expect(holds(line), JSON.stringify([line, holds.errors])).to.equal(true)
    const auth = lines.filter(({ component }) => component === 'auth')
    expect(auth.map(({ event }) => event)).to.deep.equal(['deprecated-key', 'login', 'login-failed', 'login-failed'])
    expect(String(auth[0]?.msg)).to.include('custom.scope')
    const text = JSON.stringify(lines)
    const parameters = new URL(answer).searchParams
    for (const secret of [CLIENT.client_secret, parameters.get('code'), parameters.get('state'), 'eyJ'])
      expect(text).to.not.include(secret)
  })
})
