import { expect } from 'chai'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { memoryRevocations } from '../../../plugin/index.ts'
import { hearSessionIds } from '../../support/session-ids.ts'
import { type Setup, setups } from '../../support/sign-in-setup.ts'

const PATH = 'auth-oidc-frontchannel-logout'

describe('front-channel logout', () => {
  const start = setups()

  /** Signs Alice in twice and Bob once. Also returns the IdP's ids of the sessions. */
  async function startWithThree() {
    let revoked = 0
    const memory = memoryRevocations()
    const revocations = {
      ...memory,
      revoke: (...criteria: Parameters<typeof memory.revoke>) => {
        revoked += 1
        return memory.revoke(...criteria)
      },
    }
    const setup = await start({ host: { revocations } })
    const sids = await hearSessionIds(setup)
    const people: ScriptedBrowser[] = []
    for (const name of ['alice', 'alice', 'bob']) people.push((await setup.signIn(name)).person)
    const signedInNow = () => Promise.all(people.map(setup.isIn))
    return { setup, people, sid: sids[0] ?? '', iss: setup.idp.issuer, signedInNow, revoked: () => revoked }
  }
  /** Requests the logout as a cross-site frame does, without cookies. */
  const requestLogout = ({ host }: Setup, query: URLSearchParams, method = 'GET') =>
    fetch(`${host.url}${PATH}?${query}`, { method })

  // Shows: plugin 9.11.
  it('a front-channel logout ends only the named session; the IdP may frame the answer', async () => {
    const { setup, sid, iss, signedInNow } = await startWithThree()
    const answer = await requestLogout(setup, new URLSearchParams({ iss, sid }))
    expect(answer.status).to.equal(200)
    expect(await answer.text()).to.equal('<!doctype html>')
    expect(answer.headers.get('x-frame-options')).to.equal(null)
    expect(answer.headers.get('content-security-policy')).to.equal(`default-src 'none'; frame-ancestors ${iss}`)
    expect(answer.headers.get('cache-control')).to.equal('no-store')
    expect(await signedInNow()).to.deep.equal([false, true, true])
    expect(setup.authLog.map(({ event }) => event)).to.include('frontchannel-logout')
  })

  // Shows: plugin 9.11.
  it('a front-channel logout with an unknown sid ends, stores and logs nothing', async () => {
    const { setup, iss, signedInNow, revoked } = await startWithThree()
    const countBefore = revoked()
    expect((await requestLogout(setup, new URLSearchParams({ iss, sid: 'made up' }))).status).to.equal(200)
    expect(revoked() - countBefore).to.equal(0)
    expect(await signedInNow()).to.deep.equal([true, true, true])
    expect(setup.authLog.map(({ event }) => event)).to.not.include('frontchannel-logout')
  })

  // Shows: plugin 9.11.
  it('a front-channel logout without parameters ends the session in the cookie', async () => {
    const { setup, people, signedInNow } = await startWithThree()
    expect((await requestLogout(setup, new URLSearchParams())).status).to.equal(200)
    expect(await signedInNow()).to.deep.equal([true, true, true])
    expect((await people[1]?.step(`${setup.host.url}${PATH}`))?.status).to.equal(200)
    expect(await signedInNow()).to.deep.equal([true, false, true])
  })

  for (const [parameters, form] of [
    ['an issuer alone', 'iss=ISS'],
    ['a session alone', 'sid=SID'],
    ['two issuers', 'iss=ISS&iss=ISS&sid=SID'],
    ['two sessions', 'iss=ISS&sid=SID&sid=SID'],
    ['another issuer', 'iss=ISS/&sid=SID'],
    ['an empty session', 'iss=ISS&sid='],
  ] as const) {
    // Shows: plugin 9.11.
    it(`refuses a front-channel logout with ${parameters}, and ends no session`, async () => {
      const { setup, people, sid, iss, signedInNow } = await startWithThree()
      const query = form.replaceAll('ISS', encodeURIComponent(iss)).replaceAll('SID', encodeURIComponent(sid))
      const answer = await people[0]?.step(`${setup.host.url}${PATH}?${query}`)
      expect(answer?.status).to.equal(400)
      expect(await signedInNow()).to.deep.equal([true, true, true])
      expect(setup.authLog.at(-1)).to.deep.include({ event: 'frontchannel-logout-refused', level: 'warn' })
    })
  }

  // Shows: plugin 9.11.
  it('refuses a front-channel logout by any method other than GET', async () => {
    const { setup, sid, iss, signedInNow } = await startWithThree()
    for (const method of ['POST', 'HEAD', 'PUT']) {
      const answer = await requestLogout(setup, new URLSearchParams({ iss, sid }), method)
      expect(answer.status, method).to.equal(405)
      expect(answer.headers.get('allow'), method).to.equal('GET')
    }
    expect(await signedInNow()).to.deep.equal([true, true, true])
  })
})
