import { expect } from 'chai'
import { decodeJwt } from 'jose'
import type { ScriptedBrowser } from '../../fixtures/browser.ts'
import { keyOfHandle } from '../../plugin/host/revocations.ts'
import { until } from '../support/until.ts'
import { isSignedIn, sessionOf, signedIn } from './support/session.ts'
import { closes, useMesh } from './support/use-mesh.ts'

const every = (sessionCheckMinutes: number) => ({
  settings: { plugins: { enabled: true, list: ['meshcompanion'], meshcompanion: { sessionCheckMinutes } } },
  // Each refresh token can be used once. A second renewal with it ends the session.
  idp: { rotateRefreshTokens: true },
})
const RENEWED = { grant_types: ['authorization_code', 'refresh_token'] }

describe('periodic session checks in MeshCentral', () => {
  // About once a second.
  const setup = useMesh(every(0.015))
  beforeEach(() => setup.register(RENEWED))
  afterEach(() => {
    setup.idp.forgeTokens()
    setup.idp.faults.clear()
  })

  const tokenRequests = () => setup.idp.requests('token')
  /** Waits for further token requests. */
  const nextTokenRequests = async (more = 1) => {
    const countBefore = tokenRequests()
    await until('token requests', () => tokenRequests() >= countBefore + more)
  }
  /** Ends the IdP session as an administrator does when an employee leaves: without a logout token. */
  const endAtIdp = async (browser: ScriptedBrowser) => {
    const page = await browser.get(`${setup.idp.issuer}/session/end`)
    await browser.submit(page.forms[0] as NonNullable<(typeof page.forms)[0]>, {}, 'Yes, sign me out')
  }
  /** Returns the token record of a browser's session once it is written. Records of other sessions may remain. */
  const recordOf = (browser: ScriptedBrowser) => {
    const { handle } = sessionOf(browser, setup.url).oidcSignIn as { handle: string }
    return until('the record', async () =>
      (await setup.data.records()).get(`meshcompaniontokens/${keyOfHandle(handle)}`),
    )
  }

  it("a session's tokens stay in one database record despite renewals and a restart", async () => {
    const browser = await signedIn(setup, setup.person())
    const { sealed } = await recordOf(browser)
    const page = await setup.open(browser)
    await until('the next record', async () => (await recordOf(browser)).sealed !== sealed)
    // The restart could interrupt a renewal and lose its new refresh token. So the IdP refuses renewals
    // meanwhile. A session is checked only once the previous answer is stored, and no other session exists yet: this
    // test must come first.
    setup.idp.faults.set('token', { kind: 'answer', status: 503 })
    await nextTokenRequests()
    await setup.restart()
    setup.idp.faults.clear('token')
    await setup.register(RENEWED)
    expect(await isSignedIn(setup, browser)).to.equal(true)
    const nextPage = await setup.open(browser)
    await nextTokenRequests(2)
    expect(page.isOpen()).to.equal(false)
    expect(nextPage.isOpen()).to.equal(true)
    await endAtIdp(browser)
    await closes(nextPage)
  })

  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    it(`a session continues if ${signal} stops the server during the session's renewal`, async () => {
      await setup.register(RENEWED)
      const browser = await signedIn(setup, setup.person())
      await recordOf(browser)
      setup.idp.faults.set('token', { kind: 'slow', ms: 1_000 })
      const page = await setup.open(browser)
      await nextTokenRequests()
      const outcome = await setup.terminate(signal)
      expect(outcome).to.equal(signal === 'SIGTERM' ? 'SIGTERM' : 0)
      setup.idp.faults.clear('token')
      page.close()
      await setup.restart()
      await setup.register(RENEWED)
      const nextPage = await setup.open(browser)
      await nextTokenRequests(2)
      expect(await isSignedIn(setup, browser)).to.equal(true)
      expect(nextPage.isOpen()).to.equal(true)
    })
  }

  it('a front-channel logout ends only the session with its sid, also after a restart', async () => {
    await setup.register({
      ...RENEWED,
      backchannel_logout_uri: 'http://127.0.0.1:1/',
      backchannel_logout_session_required: true,
    })
    const tokens: string[] = []
    setup.idp.forgeTokens((token) => {
      tokens.push(token)
      return token
    })
    const browser = await signedIn(setup, setup.person())
    const sid = String(decodeJwt(tokens.at(-1) ?? '').sid)
    await recordOf(browser)
    await setup.restart(every(0))
    const [page, otherPage] = [await setup.open(browser), await setup.open(await signedIn(setup, setup.person()))]
    const frame = (name: string) =>
      setup
        .browser()
        .step(`${setup.url}auth-oidc-frontchannel-logout?${new URLSearchParams({ iss: setup.idp.issuer, sid: name })}`)
    expect((await frame('made up')).status).to.equal(200)
    expect(page.isOpen()).to.equal(true)
    const { status, headers } = await frame(sid)
    expect(status).to.equal(200)
    expect(headers['x-frame-options']).to.equal(undefined)
    expect(headers['content-security-policy']).to.equal(`default-src 'none'; frame-ancestors ${setup.idp.issuer}`)
    await closes(page)
    expect(await isSignedIn(setup, browser)).to.equal(false)
    expect(otherPage.isOpen()).to.equal(true)
  })
})
