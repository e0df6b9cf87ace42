import { expect } from 'chai'
import { until } from '../../meshcentral/support/until.ts'
import { expectRefused } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE } from '../support/people.ts'
import { glewlwyd } from './glewlwyd.ts'

runMatrix(glewlwyd, (bench) => {
  it('signs in without a secret, where its revocation endpoint refuses who has none', async () => {
    const lab = await bench().lab({ both: { token_endpoint_auth_method: 'none' }, secret: null })
    expect((await lab.signIn(ALICE)).who).to.include({ status: 200, email: ALICE.email })
  })

  it('takes a secret that is a UUID, which it compares with the Basic credentials as they come', async () => {
    const lab = await bench().lab({ secret: '6f1c9a52-0f5b-4c44-9d0e-3c5a8a2b7d10' })
    expect((await lab.signIn(ALICE)).who).to.include({ status: 200, email: ALICE.email })
  })

  it('takes its logout tokens, which have no exp', async () => {
    const { idp, lab: start } = bench()
    const lab = await start({ backchannel: { sessionRequired: true } })
    const { browser } = await lab.signIn(ALICE)
    if (!idp.endSessions) throw new Error('it ends sessions')
    await idp.endSessions(ALICE, 'newest')
    await until('the session to end here', async () => (await lab.whoIs(browser)).status === 401)
    expect(lab.complaints()).to.deep.equal([])
  })

  it('sends a state along at logout, without which it leads nobody back', async () => {
    const { idp, lab: start } = bench()
    const lab = await start()
    const [first, second] = [await lab.signIn(ALICE), await lab.signIn(ALICE)]
    expect((await lab.signOut(first.browser)).url).to.match(new RegExp(`^${lab.host.url}login`))
    const { headers } = await second.browser.step(`${lab.host.url}logout`)
    const stateless = new URL(headers.location ?? '')
    expect(stateless.searchParams.get('state')).to.match(/./)
    stateless.searchParams.delete('state')
    const page = await idp.confirmLogout(second.browser, await second.browser.get(stateless.href))
    expect(page.url).to.match(new RegExp(`^${new URL(idp.issuer).origin}/`))
  })

  it('says that PKCE has to be allowed, where its plugin does not', async () => {
    const { idp, lab: start } = bench()
    await idp.forbidPkce()
    const lab = await start()
    expectRefused(lab, await lab.signIn(ALICE), ['provider_error', 'token_request_failed'], [/PKCE/])
  })
})
