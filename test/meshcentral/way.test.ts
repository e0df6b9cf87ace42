import { expect } from 'chai'
import { answerOfIdp, isApp, isLoginPage, messageOn, sessionOf, signIn } from './support/session.ts'
import { useMesh } from './support/use-mesh.ts'

describe('the way through a login', () => {
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
  it('leads to the page of a link that somebody followed signed out, without credentials that stood in it', async () => {
    const browser = setup.browser()
    expect(isLoginPage(await browser.get(`${setup.url}?viewmode=10&gotonode=node1`))).to.equal(true)
    const page = await signIn(setup, browser, setup.person())
    expect(page.url).to.equal(`${setup.url}?viewmode=10&gotonode=node1`)
    // Of the plugin's cookies, only the landing remains, for 10 minutes.
    expect(names(browser).toSorted()).to.deep.equal(['__Host-oidc-landed', 'xid', 'xid.sig'])
    await browser.step(`${setup.url}logout`)
    expect((await signIn(setup, browser, setup.person())).url).to.equal(setup.url)
    const otherBrowser = setup.browser()
    await otherBrowser.get(`${setup.url}?viewmode=10&login=abc`)
    expect(names(otherBrowser)).not.to.include('__Host-oidc-return')
    expect((await signIn(setup, otherBrowser, setup.person())).url).to.equal(setup.url)
  })

  // Shows: meshcentral 10.
  it('goes straight to the IdP with unknownUserRootRedirect, but a refusal and a logout end on the login page', async () => {
    const url = setup.urlOf('straight')
    const browser = setup.browser()
    const person = setup.person({ groups: ['in'] })
    const page = await signIn(setup, browser, person, { domain: 'straight', path: '?viewmode=10&gotonode=node1' })
    expect([page.url, isApp(page)]).to.deep.equal([`${url}?viewmode=10&gotonode=node1`, true])
    const logoutPage = await browser.get(`${url}logout`)
    const [form] = logoutPage.forms
    if (!form) throw new Error('the IdP does not ask')
    const signedOut = await browser.submit(form, {}, 'Yes, sign me out')
    expect([new URL(signedOut.url).pathname, isLoginPage(signedOut)]).to.deep.equal(['/straight/login', true])

    const refused = await signIn(setup, setup.browser(), setup.person(), { domain: 'straight', path: '' })
    expect([refused.url, messageOn(refused)]).to.deep.equal([`${url}login`, 111])
  })

  // Shows: meshcentral 9.
  it('shows a message once, to nobody else, and none that a cookie makes up', async () => {
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

  it('tells no cache and no other site anything', async () => {
    const browser = setup.browser()
    const started = await browser.step(`${setup.url}auth-oidc`)
    const finished = await browser.step(await answerOfIdp(setup, browser, setup.person()))
    for (const { headers } of [started, finished]) {
      expect(headers['cache-control']).to.include('no-store')
      expect(headers['referrer-policy']).to.equal('no-referrer')
    }
  })
})

describe('the way through a login with sessionSameSite strict', () => {
  const setup = useMesh({
    settings: { sessionSameSite: 'strict' },
    domains: { '': {}, closed: { oidc: { newAccounts: false } }, key: { members: { loginKey: 'k1' } } },
  })

  // Shows: meshcentral 19.
  it('ends in a page of ours that goes on by itself, so that the new session is sent along, with a message too', async () => {
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

  it('carries a login key', async () => {
    const page = await signIn(setup, setup.browser(), setup.person(), { domain: 'key', path: 'auth-oidc?key=k1' })
    expect([isApp(page), page.url]).to.deep.equal([true, `${setup.urlOf('key')}?key=k1`])
  })
})
