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
      sessions: cookieSessions(wanted),
      middleware: cookieSession({ name: 'session', keys: ['a key'] }),
    }),
    { counts: false, keepsTokens: false, tells: false },
  )

  describe('with a browser', () => {
    let server: Server
    let url: string
    let browser: ScriptedBrowser
    let login: SignIn
    const sessions = cookieSessions({ revocations: memoryRevocations() })

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

    it('keep no token that anybody could read in the cookies, and of those for the IdP none at all', async () => {
      await get('/start')
      const lying = cookies().map(({ value }) => value + Buffer.from(value, 'base64').toString('latin1'))
      for (const secret of [ID_TOKEN, 'claims-of-alice', 'an-access-token', 'a-refresh-token']) {
        expect(lying.join()).to.not.include(secret)
      }
      expect((await get('/')).current).to.deep.equal({ ...login, idToken: null, tokens: null })
    })

    it('keep the cookie small enough for proxies, whatever the ID token has', async () => {
      login = signIn({ idToken: 'x'.repeat(2900), subject: 'u'.repeat(255), userId: `~oidc:${'u'.repeat(255)}` })
      await get('/start')
      expect((await get('/')).current).to.deep.include({ subject: login.subject, idToken: null })
      const set = cookies().map(({ name, value }) => name.length + value.length)
      expect(set.reduce((sum, size) => sum + size)).to.be.below(2_000)
    })

    it('do not begin when they would not fit into a cookie, and leave nobody signed in', async () => {
      await get('/start')
      login = signIn({ sid: 's'.repeat(4000) })
      expect((await get('/start')).error).to.equal('The sign-in is too large for a cookie.')
      expect((await get('/')).current).to.equal(null)
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
})
