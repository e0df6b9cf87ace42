import { expect } from 'chai'
import { MESSAGES } from '../../../plugin/errors.ts'
import { setups, whoAmI } from '../../support/sign-in-setup.ts'

describe('login page', () => {
  const start = setups()

  // Shows: plugin 9.42.
  it('the login page shows one button that names the identity provider', async () => {
    const { host, browser } = await start()
    const page = await browser().get(`${host.url}login`)
    expect(page.links).to.deep.equal([{ href: `${host.url}auth-oidc`, text: 'Sign in with 127.0.0.1' }])
  })

  // Shows: plugin 5.8, 5.11.
  it('the login page shows the configured text and icon of the button, escaped', async () => {
    const buttonText = 'Enter with <b>"Corp" & Co.</b>'
    const buttonIconUrl = 'https://cdn.example.com/corp.png?a=1&b="'
    const { host, browser } = await start({ oidc: { custom: { buttonText, buttonIconUrl } } })
    const page = await browser().get(`${host.url}login`)
    expect(page.links).to.deep.equal([{ href: `${host.url}auth-oidc`, text: buttonText }])
    expect(page.body).to.include('src="https://cdn.example.com/corp.png?a=1&amp;b=&quot;"').and.include('&lt;b&gt;')
    expect(page.headers['content-security-policy']).to.match(/default-src 'none'.*; img-src 'self' https:$/)
  })

  // Shows: plugin 9.44.
  it('a login and a logout work without JavaScript', async () => {
    const { host, browser } = await start()
    const person = browser()
    for (const path of ['login', 'login?failure=access_denied']) {
      const page = await person.get(`${host.url}${path}`)
      expect(page.body, path).to.not.match(/<script|javascript:|\son\w+=/i)
      expect(page.headers['content-security-policy'], path).to.match(/default-src 'none'/)
    }
    const home = await person.login(host.url, 'alice', 'alice-demo')
    expect(home.body).to.not.match(/<script|javascript:|\son\w+=/i)
    expect((await whoAmI(person, host.url)).status).to.equal(200)
    const [form] = home.forms
    if (!form) throw new Error('no form to sign out with')
    await person.submit(form)
    expect((await whoAmI(person, host.url)).status).to.equal(401)
  })

  // Shows: plugin 9.43.
  it('the login page shows in an alert why the last login failed', async () => {
    const { host, browser } = await start()
    for (const [code, message] of Object.entries(MESSAGES)) {
      const page = await browser().get(`${host.url}login?failure=${code}`)
      expect(page.text).to.include(message)
      expect(page.body).to.match(/role="alert"/)
      expect(page.links).to.have.length(1)
    }
  })
})
