import { expect } from 'chai'
import { answerOfIdp, isApp, isLoginPage, messageOn, sessionOf, signIn } from './support/session.ts'
import { useMesh } from './support/use-mesh.ts'

describe('redirects during a login', () => {
  const setup = useMesh({
    domains: {
      '': {},
      closed: { oidc: { newAccounts: false } },
      straight: { oidc: { groups: { required: 'in' } }, members: { unknownUserRootRedirect: '/straight/auth-oidc' } },
    },
  })

  const names = (browser: ReturnType<typeof setup.browser>) =>
    browser.cookies.matching(new URL(setup.url)).map(({ name }) => name)

  // Shows: meshcentral 18.
  it("a login ends on the requested page unless that page's URL contains credentials", async () => {
    const browser = setup.browser()
    expect(isLoginPage(await browser.get(`${setup.url}?viewmode=10&gotonode=node1`))).to.equal(true)
    const page = await signIn(setup, browser, setup.person())
    expect(page.url).to.equal(`${setup.url}?viewmode=10&gotonode=node1`)
    // Only one of the plugin's cookies remains: the landing, for 10 minutes.
    expect(names(browser).toSorted()).to.deep.equal(['__Host-oidc-landed', 'xid', 'xid.sig'])
    await browser.step(`${setup.url}logout`)
    expect((await signIn(setup, browser, setup.person())).url).to.equal(setup.url)
    const otherBrowser = setup.browser()
    await otherBrowser.get(`${setup.url}?viewmode=10&login=abc`)
    expect(names(otherBrowser)).not.to.include('__Host-oidc-return')
    expect((await signIn(setup, otherBrowser, setup.person())).url).to.equal(setup.url)
  })

  // Shows: meshcentral 10.
  it('a failed login ends on the login page even if the domain redirects to the IdP', async () => {
    const url = setup.urlOf('straight')
    const browser = setup.browser()
    const person = setup.person({ groups: ['in'] })
    const page = await signIn(setup, browser, person, { domain: 'straight', path: '?viewmode=10&gotonode=node1' })
    expect(page.url).to.deep.equal(`${url}?viewmode=10&gotonode=node1`)
    expect(isApp(page)).to.equal(true)
    const logoutPage = await browser.get(`${url}logout`)
    const [form] = logoutPage.forms
    if (!form) throw new Error('the IdP does not ask')
    const signedOut = await browser.submit(form, {}, 'Yes, sign me out')
    expect(new URL(signedOut.url).pathname).to.equal('/straight/login')
    expect(isLoginPage(signedOut)).to.equal(true)

    const refused = await signIn(setup, setup.browser(), setup.person(), { domain: 'straight', path: '' })
    expect(refused.url).to.equal(`${url}login`)
    expect(messageOn(refused)).to.equal(111)
  })

  // Shows: meshcentral 9.
  it('the login page shows a failure message once, and shows none for a forged cookie', async () => {
    const browser = setup.browser()
    const failed = await signIn(setup, browser, setup.person(), { domain: 'closed' })
    expect(messageOn(failed)).to.equal(100)
    expect(messageOn(await browser.get(`${setup.urlOf('closed')}login`))).to.equal(null)
    expect(messageOn(await setup.browser().get(`${setup.url}login`))).to.equal(null)
    for (const value of ['1', '100.5', '<b>', '118']) {
      browser.cookies.store(new URL(setup.url), [`__Host-oidc-failure=${value}; Path=/; Secure`])
      expect(messageOn(await browser.get(`${setup.url}login`)), value).to.equal(null)
    }
  })

  it('each step of a login forbids caching and referrers', async () => {
    const browser = setup.browser()
    const started = await browser.step(`${setup.url}auth-oidc`)
    const finished = await browser.step(await answerOfIdp(setup, browser, setup.person()))
    for (const { headers } of [started, finished]) {
      expect(headers['cache-control']).to.include('no-store')
      expect(headers['referrer-policy']).to.equal('no-referrer')
    }
  })
})

describe('redirects during a login with sessionSameSite strict', () => {
  const setup = useMesh({
    settings: { sessionSameSite: 'strict' },
    domains: { '': {}, closed: { oidc: { newAccounts: false } }, key: { members: { loginKey: 'k1' } } },
  })

  // Shows: meshcentral 19.
  it('with sessionSameSite strict, a login ends on a page that redirects by itself', async () => {
    const browser = setup.browser()
    const person = setup.person()
    const answer = await browser.step(
      await answerOfIdp(setup, browser, person, { path: 'auth-oidc?return=/%3Fa=%2522%2526b' }),
    )
    expect(answer.status).to.equal(200)
    expect(answer.body).to.match(/http-equiv="refresh" content="0;url=\/\?a=[^"<>]*"/)
    expect((answer.headers['set-cookie'] ?? []).find((cookie) => cookie.startsWith('xid='))).to.match(
      /samesite=strict/i,
    )
    expect(sessionOf(browser, setup.url).userid).to.equal(`user//~oidc:${person.sub}`)
    expect(isApp(await browser.get(setup.url))).to.equal(true)

    const otherBrowser = setup.browser()
    const failed = await otherBrowser.step(await answerOfIdp(setup, otherBrowser, setup.person(), { domain: 'closed' }))
    expect(failed.status).to.equal(200)
    expect(failed.body).to.include('url=/closed/login"')
    for (const name of ['xid', 'xid.sig'])
      otherBrowser.cookies.store(new URL(setup.url), [`${name}=; Path=/; Max-Age=0`])
    expect(messageOn(await otherBrowser.get(`${setup.urlOf('closed')}login`))).to.equal(100)
  })

  it('a login with sessionSameSite strict keeps the loginKey in the address', async () => {
    const page = await signIn(setup, setup.browser(), setup.person(), { domain: 'key', path: 'auth-oidc?key=k1' })
    expect(isApp(page)).to.equal(true)
    expect(page.url).to.deep.equal(`${setup.urlOf('key')}?key=k1`)
  })
})
