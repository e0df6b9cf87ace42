import { expect } from 'chai'
import { expectRefused } from '../matrix/expectations.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE } from '../support/people.ts'
import { glewlwyd } from './glewlwyd.ts'

runMatrix(glewlwyd, (bench) => {
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
