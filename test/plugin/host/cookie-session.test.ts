import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect } from 'chai'
import cookieSession from 'cookie-session'
import express, { type RequestHandler } from 'express'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { cookieSessions } from '../../../plugin/host/cookie-session.ts'
import type { SignIn } from '../../../plugin/host/port.ts'
import { memoryRevocations } from '../../../plugin/host/revocations.ts'
import { sessionsContract } from './sessions.contract.ts'

const SECRET = 'a secret of the server with more than 32 characters'
const ID_TOKEN = `${Buffer.from('{"alg":"RS256"}').toString('base64url')}.claims-of-alice.signature`

const signIn = (changes: Partial<SignIn> = {}): SignIn => ({
  domainKey: '',
  userId: '~oidc:u-1',
  issuer: 'https://idp.example',
  subject: 'u-1',
  sid: 's-1',
  startedAt: Date.now(),
  idToken: ID_TOKEN,
  tokens: { access: 'an-access-token', accessExpiresAt: null, refresh: 'a-refresh-token' },
  ...changes,
})

describe('Sessions over cookie-session', () => {
  sessionsContract(
    (wanted) => ({
      sessions: cookieSessions({ secret: SECRET, ...wanted }),
      middleware: cookieSession({ name: 'session', keys: ['a key'] }),
    }),
    { counts: false, keepsTokens: false, tells: false },
  )

  describe('with a browser', () => {
    let server: Server
    let url: string
    let browser: ScriptedBrowser
    let login: SignIn
    const sessions = cookieSessions({ secret: SECRET, revocations: memoryRevocations() })

    beforeEach(async () => {
      login = signIn()
      const app = express()
      app.get('/without-middleware', async (req, res) => {
        const error = await sessions.start(req, res, login).catch((thrown: Error) => thrown.message)
        res.json({ current: (await sessions.current(req)) ?? null, error })
      })
      const start: RequestHandler = async (req, res) => {
        const error = await sessions.start(req, res, login).catch((thrown: Error) => thrown.message)
        res.json({ error: error ?? null })
      }
      const behindProxy = { name: 'session', keys: ['a key'], secure: true, secureProxy: true }
      app.get('/secure/start', cookieSession(behindProxy), start)
      app.use(cookieSession({ name: 'session', keys: ['a key'] }))
      app.get('/start', start)
      app.get('/end', async (req, res) => {
        await sessions.end(req, res)
        res.json({})
      })
      app.get('/', async (req, res) => {
        res.json({ current: (await sessions.current(req)) ?? null })
      })
      server = app.listen(0, '127.0.0.1')
      await once(server, 'listening')
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
      browser = new ScriptedBrowser()
    })
    afterEach(async () => {
      browser.close()
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections()
      await closed
    })

    const get = async (path: string) => JSON.parse((await browser.step(`${url}${path}`)).body)
    const cookies = () => browser.cookies.matching(new URL(url))
    const cookie = (name: string) => cookies().find((one) => one.name === name)?.value

    it('keep no token that anybody could read in the cookies, and of those for the IdP none at all', async () => {
      await get('/start')
      const lying = cookies().map(({ value }) => value + Buffer.from(value, 'base64').toString('latin1'))
      for (const secret of [ID_TOKEN, 'claims-of-alice', 'an-access-token', 'a-refresh-token']) {
        expect(lying.join()).to.not.include(secret)
      }
      expect((await get('/')).current).to.deep.equal({ ...login, tokens: null })
    })

    it('have no ID token when its cookie is missing, of another session, or not ours', async () => {
      await get('/start')
      const stolen = cookie('oidc-hint') ?? ''
      await get('/start')
      for (const value of [stolen, '', 'x', Buffer.alloc(200).toString('base64url')]) {
        browser.cookies.plant(new URL(url), 'oidc-hint', value)
        expect((await get('/')).current, value).to.deep.include({ subject: 'u-1', idToken: null })
      }
    })

    it('go on without an ID token that no browser would keep, and without that of the session before', async () => {
      await get('/start')
      login = signIn({ idToken: 'x'.repeat(4000) })
      expect(await get('/start')).to.deep.equal({ error: null })
      expect(cookie('oidc-hint')).to.equal(undefined)
      expect((await get('/')).current).to.deep.include({ subject: 'u-1', idToken: null })
    })

    it('keep every cookie small enough for a browser', async () => {
      login = signIn({ idToken: 'x'.repeat(2900), subject: 'u'.repeat(255), userId: `~oidc:${'u'.repeat(255)}` })
      await get('/start')
      expect((await get('/')).current.idToken).to.equal(login.idToken)
      for (const { name, value } of cookies()) expect(name.length + value.length).to.be.below(4096)
    })

    it('do not begin when they would not fit into a cookie, and leave nobody signed in', async () => {
      await get('/start')
      login = signIn({ sid: 's'.repeat(4000) })
      expect((await get('/start')).error).to.equal('The sign-in is too large for a cookie.')
      expect((await get('/')).current).to.equal(null)
    })

    it('take the cookie of the ID token away when they end', async () => {
      await get('/start')
      expect(cookie('oidc-hint')).to.be.a('string')
      await get('/end')
      expect(cookie('oidc-hint')).to.equal(undefined)
    })

    it('follow the middleware in whether cookies travel over TLS only', async () => {
      const { headers } = await browser.step(`${url}/secure/start`)
      const hint = headers['set-cookie']?.find((line) => line.includes('oidc-hint'))
      expect(hint).to.match(/^__Host-oidc-hint=[^;]+; Path=\/; HttpOnly; Secure; SameSite=Lax$/)
    })

    it('are not signed in by a session that somebody else made up', async () => {
      const forged = Buffer.from(JSON.stringify({ oidcSignIn: { ...login, handle: 'x' } })).toString('base64')
      browser.cookies.plant(new URL(url), 'session', forged)
      browser.cookies.plant(new URL(url), 'session.sig', 'x'.repeat(27))
      expect((await get('/')).current).to.equal(null)
    })

    it('tell a host what it forgot when the middleware is missing', async () => {
      expect(await get('/without-middleware')).to.deep.equal({
        current: null,
        error: 'There is no session: cookie-session has to be used before the plugin.',
      })
    })
  })

  it('refuse a secret that could be guessed', () => {
    const open = () => cookieSessions({ secret: 'short', revocations: memoryRevocations() })
    expect(open).to.throw(TypeError, '32 characters')
  })
})
