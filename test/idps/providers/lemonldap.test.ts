import { expect } from 'chai'
import { until } from '../../support/until.ts'
import { runMatrix } from '../matrix/run-matrix.ts'
import { ALICE } from '../support/people.ts'
import { lemonldap } from './lemonldap.ts'

runMatrix(lemonldap, (bench) => {
  it('logs an error that LemonLDAP returns in the URL fragment instead of by form_post', async () => {
    const { idp, lab: start } = bench()
    idp.askForConsent()
    const lab = await start({ both: { response_types: ['code id_token'] } })
    const browser = lab.browser()
    const first = await browser.get(`${lab.host.url}auth-oidc`)
    const form = first.forms.find(({ fields }) => fields.some(([name]) => name === 'password'))
    if (!form) throw new Error(`no login page at ${first.url}`)
    const consentPage = await browser.submit(form, { user: ALICE.username, password: ALICE.password })
    const refused = await idp.refuse(browser, consentPage)
    const answer = new URL(refused.trail.find((address) => address.startsWith(lab.host.url)) ?? '')
    expect(answer.hash).to.match(/^#error=consent_required&/)
    // Posts the fragment as the script of the callback's page does.
    const fields = [...new URLSearchParams(answer.hash.slice(1))]
    const last = await browser.get(`${answer.origin}${answer.pathname}`, { form: fields })
    expect(last.url).to.match(/\/login\?failure=\w+$/)
    expect(lab.authLog.at(-1)?.fields).to.include({ code: 'provider_error', error: 'consent_required' })
    expect((await lab.whoIs(browser)).status).to.equal(401)
  })

  it("accepts a logout token while LemonLDAP's only process cannot serve its key set", async () => {
    const { idp, lab: start } = bench()
    await idp.restartWith(1)
    const cameFirst: boolean[] = []
    const hasEnded = () => lab.authLog.some(({ event }) => event === 'backchannel-logout')
    const listening: typeof globalThis.fetch = (input, init) =>
      globalThis.fetch(input, init).finally(() => /jwks/.test(String(input)) && cameFirst.push(!hasEnded()))
    const lab = await start({ backchannel: { sessionRequired: true }, host: { fetch: listening } })
    const { browser, me } = await lab.signIn(ALICE)
    expect(me.status).to.equal(200)
    if (!idp.endSessions) throw new Error('it ends sessions')
    const countBefore = cameFirst.length
    await idp.endSessions(ALICE, 'all')
    await until('the session to end here', async () => (await lab.whoIs(browser)).status === 401)
    // The session ended before any keys arrived: LemonLDAP's only process was busy sending the logout token.
    expect(cameFirst.slice(countBefore)).to.not.include(true)
  })
})
