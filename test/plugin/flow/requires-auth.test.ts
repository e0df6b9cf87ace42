import { createServer } from 'node:http'
import { expect } from 'chai'
import express, { type ErrorRequestHandler } from 'express'
import session from 'express-session'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { recordsInMemory } from '../../../fixtures/host/accounts-memory.ts'
import { type Idp, startIdp } from '../../../fixtures/idp/server.ts'
import {
  type Account,
  createLog,
  expressSessions,
  type Host,
  registerOidc,
  requiresAuth,
} from '../../../plugin/index.ts'
import { onLoopback } from '../../support/on-loopback.ts'

const CLIENT = { client_id: 'own', client_secret: 'a client secret of the tests' }

/** Headers of `fetch` in a page. */
const SCRIPT = { headers: { accept: '*/*' } }

describe('page behind requiresAuth', () => {
  let idp: Idp
  let url: string
  /** Replaces what `accounts.find` returns. */
  let changed: (account: Account) => Account | undefined | Promise<never>
  let served: number
  let close: () => Promise<void>
  const browsers: ScriptedBrowser[] = []

  beforeEach(async () => {
    idp = await startIdp()
    const app = express()
    const server = await onLoopback(createServer(app))
    url = `${server.url}/`
    changed = (account) => account
    served = 0
    const records = recordsInMemory()
    const { find } = records.accounts
    const accounts = {
      ...records.accounts,
      async find(domain: string, id: Account['id']) {
        const account = await find(domain, id)
        return account && changed(account)
      },
    }
    const client = { ...CLIENT, redirect_uri: `${url}auth-oidc-callback` }
    await idp.addClient({ ...CLIENT, redirect_uris: [client.redirect_uri] })
    const ofDomain = { authStrategies: { oidc: { issuer: idp.issuer, client, newAccounts: true } } }
    // The one of `localhost` has a configuration error, the one of `[::1]` has no single sign-on.
    const broken = { dns: 'localhost', authStrategies: { oidc: { issuer: 7 } } }
    const config = { settings: { cert: '127.0.0.1' }, domains: { '': ofDomain, broken, plain: { dns: 'plain.test' } } }
    const host: Host = {
      accounts,
      groups: records.groups,
      sessions: expressSessions(),
      loginPage: { showFailure: (_req, res, _domain, { code }) => void res.send(`Refused: ${code}`) },
      authLog: () => undefined,
    }
    app.use(session({ secret: 'of the tests', resave: false, saveUninitialized: false }))
    const oidc = await registerOidc(app, { config, host, log: createLog('plugin', { write: () => undefined }) })
    app.all('/devices', requiresAuth(oidc), (_req, res) => {
      served += 1
      res.json(res.locals.account)
    })
    const onError: ErrorRequestHandler = (error, _req, res, _next) => void res.status(500).send(String(error))
    app.use(onError)
    close = async () => {
      await server.close()
      await oidc.close()
      await idp.close()
    }
  })
  afterEach(async () => {
    for (const browser of browsers.splice(0)) browser.close()
    await close()
  })

  const browse = () => {
    const browser = new ScriptedBrowser()
    browsers.push(browser)
    return browser
  }

  async function signIn(): Promise<ScriptedBrowser> {
    const browser = browse()
    await browser.signIn(await browser.get(`${url}devices`), 'alice', 'alice-demo')
    return browser
  }

  // Shows: plugin 9.47.
  it('a visitor of a protected page signs in, and returns to that page signed in', async () => {
    const browser = browse()
    const { status, headers } = await browser.step(`${url}devices?tab=files&x=1`)
    expect(status).to.equal(302)
    expect(headers.location).to.equal('/auth-oidc?return=%2Fdevices%3Ftab%3Dfiles%26x%3D1')
    expect(headers['cache-control']).to.equal('no-store')
    expect(served).to.equal(0)
    const page = await browser.signIn(await browser.get(`${url}devices?tab=files&x=1`), 'alice', 'alice-demo')
    expect(page.url).to.equal(`${url}devices?tab=files&x=1`)
    expect(JSON.parse(page.body)).to.include({ id: '~oidc:u-1001', name: 'Alice Example' })
    expect(page.headers['cache-control']).to.equal('no-store')
  })

  // Shows: plugin 9.47.
  it('a protected page answers 401 to scripts and forms instead of redirecting', async () => {
    const browser = browse()
    const requests = [SCRIPT, { headers: { accept: 'image/avif,*/*' } }, { form: [] }]
    for (const request of requests) {
      const { status, body } = await browser.step(`${url}devices`, request)
      expect({ status, body }).to.deep.equal({ status: 401, body: 'Sign in first.' })
    }
    expect(served).to.equal(0)
  })

  // Shows: plugin 9.47.
  it('a login drops the return address if it is too long for a proxy', async () => {
    const { status, headers } = await browse().step(`${url}devices?${'x'.repeat(7_000)}`)
    expect(status).to.equal(302)
    expect(headers.location).to.equal('/auth-oidc')
  })

  // Shows: plugin 9.47.
  it('a protected page refuses sessions of removed or locked accounts or other domains', async () => {
    const browser = await signIn()
    expect((await browser.step(`${url}devices`, SCRIPT)).status).to.equal(200)
    changed = () => undefined
    expect((await browser.step(`${url}devices`, SCRIPT)).status).to.equal(401)
    changed = (account) => ({ ...account, locked: true })
    expect((await browser.step(`${url}devices`, SCRIPT)).status).to.equal(401)
    changed = (account) => account
    const [cookie] = browser.cookies.matching(new URL(url)).filter(({ name }) => name === 'connect.sid')
    for (const [host, answer] of [
      ['localhost', { status: 302, location: '/login' }],
      ['plain.test', { status: 401, location: undefined }],
    ] as const) {
      const headers = { host, cookie: `connect.sid=${cookie?.value}` }
      const elsewhere = await browse().step(`${url}devices`, { headers })
      expect({ status: elsewhere.status, location: elsewhere.headers.location }, host).to.deep.equal(answer)
    }
    expect(served).to.equal(2)
  })

  // Shows: plugin 9.47.
  it('a protected page answers 500 if the accounts cannot be read', async () => {
    const browser = await signIn()
    changed = () => Promise.reject(new Error('the accounts are away'))
    const { status, body } = await browser.step(`${url}devices`)
    expect({ status, body }).to.deep.equal({ status: 500, body: 'Error: the accounts are away' })
    expect(served).to.equal(1)
  })
})
