import { expect } from 'chai'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { memoryRevocations } from '../../../plugin/index.ts'
import { hearSessionIds } from '../../support/session-ids.ts'
import { type Setup, setups } from '../../support/sign-in-setup.ts'

const PATH = 'auth-oidc-frontchannel-logout'

describe('a logout that a frame on the page of the IdP tells of', () => {
  const start = setups()

  /** Two sessions of one person, with the IdP's ids of both, and one of somebody else. */
  async function startWithThree() {
    let revoked = 0
    const memory = memoryRevocations()
    const revocations = {
      ...memory,
      revoke: (...those: Parameters<typeof memory.revoke>) => {
        revoked += 1
        return memory.revoke(...those)
      },
    }
    const setup = await start({ host: { revocations } })
    const sids = await hearSessionIds(setup)
    const people: ScriptedBrowser[] = []
    for (const name of ['alice', 'alice', 'bob']) people.push((await setup.signIn(name)).person)
    const signedInNow = () => Promise.all(people.map(setup.isIn))
    return { setup, people, sid: sids[0] ?? '', iss: setup.idp.issuer, signedInNow, revoked: () => revoked }
  }
  /** As a frame of another site, to which no cookie is sent. */
  const call = ({ host }: Setup, query: URLSearchParams, method = 'GET') =>
    fetch(`${host.url}${PATH}?${query}`, { method })

  // Shows: plugin 9.11.
  it('ends that session and no other, by a page for a frame of that IdP which nobody keeps', async () => {
    const { setup, sid, iss, signedInNow } = await startWithThree()
    const answer = await call(setup, new URLSearchParams({ iss, sid }))
    expect(answer.status).to.equal(200)
    expect(await answer.text()).to.equal('<!doctype html>')
    expect(answer.headers.get('x-frame-options')).to.equal(null)
    expect(answer.headers.get('content-security-policy')).to.equal(`default-src 'none'; frame-ancestors ${iss}`)
    expect(answer.headers.get('cache-control')).to.equal('no-store')
    expect(await signedInNow()).to.deep.equal([false, true, true])
    expect(setup.authLog.map(({ event }) => event)).to.include('frontchannel-logout')
  })

  // Shows: plugin 9.11.
  it('ends nothing and remembers nothing of a session that nobody has', async () => {
    const { setup, iss, signedInNow, revoked } = await startWithThree()
    const before = revoked()
    expect((await call(setup, new URLSearchParams({ iss, sid: 'made up' }))).status).to.equal(200)
    expect([revoked() - before, await signedInNow()]).to.deep.equal([0, [true, true, true]])
    expect(setup.authLog.map(({ event }) => event)).to.not.include('frontchannel-logout')
  })

  // Shows: plugin 9.11.
  it('ends the session of the cookie that did arrive, where it names none', async () => {
    const { setup, people, signedInNow } = await startWithThree()
    expect((await call(setup, new URLSearchParams())).status).to.equal(200)
    expect(await signedInNow()).to.deep.equal([true, true, true])
    expect((await people[1]?.step(`${setup.host.url}${PATH}`))?.status).to.equal(200)
    expect(await signedInNow()).to.deep.equal([true, false, true])
  })

  for (const [what, form] of [
    ['an issuer alone', 'iss=ISS'],
    ['a session alone', 'sid=SID'],
    ['two issuers', 'iss=ISS&iss=ISS&sid=SID'],
    ['two sessions', 'iss=ISS&sid=SID&sid=SID'],
    ['another issuer', 'iss=ISS/&sid=SID'],
    ['an empty session', 'iss=ISS&sid='],
  ] as const) {
    // Shows: plugin 9.11.
    it(`is refused with ${what}, and ends nothing, that of the cookie neither`, async () => {
      const { setup, people, sid, iss, signedInNow } = await startWithThree()
      const query = form.replaceAll('ISS', encodeURIComponent(iss)).replaceAll('SID', encodeURIComponent(sid))
      const answer = await people[0]?.step(`${setup.host.url}${PATH}?${query}`)
      expect(answer?.status).to.equal(400)
      expect(await signedInNow()).to.deep.equal([true, true, true])
      expect(setup.authLog.at(-1)).to.deep.include({ event: 'frontchannel-logout-refused', level: 'warn' })
    })
  }

  // Shows: plugin 9.11.
  it('comes by GET alone', async () => {
    const { setup, sid, iss, signedInNow } = await startWithThree()
    for (const method of ['POST', 'HEAD', 'PUT']) {
      const answer = await call(setup, new URLSearchParams({ iss, sid }), method)
      expect([answer.status, answer.headers.get('allow')], method).to.deep.equal([405, 'GET'])
    }
    expect(await signedInNow()).to.deep.equal([true, true, true])
  })
})
