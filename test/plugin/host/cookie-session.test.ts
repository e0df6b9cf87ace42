import { expect } from 'chai'
import cookieSession from 'cookie-session'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { cookieSessions } from '../../../plugin/host/cookie-session.ts'
import { memoryRevocations } from '../../../plugin/host/revocations.ts'
import { sessionServers, signInAt } from './session-server.ts'
import { sessionsContract } from './sessions.contract.ts'

const ID_TOKEN = `${Buffer.from('{"alg":"RS256"}').toString('base64url')}.claims-of-alice.signature`
const middleware = cookieSession({ name: 'session', keys: ['a key'] })

describe('sessions over cookie-session', () => {
  sessionsContract((wanted) => ({ sessions: cookieSessions(wanted), middleware }), {
    counts: false,
    keepsTokens: false,
    listsSessions: false,
    library: 'cookie-session',
  })

  describe('sessions over cookie-session in a browser', () => {
    const { serve, newBrowser, cookiesOf, call, current } = sessionServers()
    const sessions = cookieSessions({ revocations: memoryRevocations() })
    const login = signInAt(Date.now(), { idToken: ID_TOKEN })
    let browser: ScriptedBrowser
    beforeEach(async () => {
      await serve({ sessions, middleware })
      browser = newBrowser()
    })

    it('session cookies contain neither readable claims nor any token for the IdP', async () => {
      await call(browser, 'start', login)
      const contents = cookiesOf(browser).map(({ value }) => value + Buffer.from(value, 'base64').toString('latin1'))
      for (const secret of [ID_TOKEN, 'claims-of-alice', 'an access token', 'a refresh token']) {
        expect(contents.join()).to.not.include(secret)
      }
    })

    it('session cookies stay below 2,000 characters, however large the ID token is', async () => {
      const subject = 'u'.repeat(255)
      await call(browser, 'start', { ...login, idToken: 'x'.repeat(2900), subject, userId: `~oidc:${subject}` })
      expect(await current(browser)).to.include({ subject })
      const set = cookiesOf(browser).map(({ name, value }) => name.length + value.length)
      expect(set.reduce((sum, size) => sum + size)).to.be.below(2_000)
    })

    it('a login with too much data for a cookie fails and ends the earlier session', async () => {
      await call(browser, 'start', login)
      const { error } = await call(browser, 'start', { ...login, sid: 's'.repeat(4000) })
      expect(error).to.equal('The sign-in is too large for a cookie.')
      expect(await current(browser)).to.equal(null)
    })
  })
})
