import { expect } from 'chai'
import { answerFromIdp, setups, whoAmI } from '../../support/sign-in-setup.ts'

describe('IdP answer that a browser sends again', () => {
  const start = setups()

  // Shows: plugin 9.19, 10.13.
  // Shows: meshcentral 18.
  it('a browser that sends an IdP answer again is redirected to the same page again', async () => {
    const { host, idp, browser, authLog } = await start()
    const person = browser()
    const answer = await answerFromIdp(person, host.url, 'alice', 'auth-oidc?return=/api/me?x=1')
    for (let times = 0; times < 3; times += 1) {
      expect((await person.step(answer)).headers.location).to.equal('/api/me?x=1')
    }
    expect(idp.requests('token')).to.equal(1)
    expect(authLog.map(({ event }) => event)).to.deep.equal(['login'])
    expect((await whoAmI(person, host.url)).status).to.equal(200)
  })

  it('a HEAD request or a prefetch with an IdP answer does not use the answer up', async () => {
    const { host, idp, browser } = await start()
    const person = browser()
    const answer = await answerFromIdp(person, host.url, 'alice')
    for (const headers of [{ 'sec-purpose': 'prefetch;prerender' }, { purpose: 'prefetch' }]) {
      expect((await person.step(answer, { headers })).status).to.equal(503)
    }
    await fetch(answer, { method: 'HEAD', headers: { cookie: person.cookies.header(new URL(host.url))! } })
    expect(idp.requests('token')).to.equal(0)
    expect((await person.step(answer)).headers.location).to.equal('/')
  })
})

describe('posted form that is too large', () => {
  const start = setups()

  for (const [size, path, form] of [
    ['256 KB', 'auth-oidc-callback', [['state', 'x'.repeat(256 * 1024)]]],
    ['256 KB at the login route', 'auth-oidc', [['iss', 'x'.repeat(256 * 1024)]]],
    ['50 fields', 'auth-oidc-callback', Array.from({ length: 51 }, (_, index) => [`f${index}`, 'x'])],
  ] as const) {
    it(`redirects to the login page if a posted form is too large: ${size}`, async () => {
      const { host, browser, authLog } = await start()
      const { status, headers } = await browser().step(host.url + path, { form: form as never })
      expect(status).to.equal(302)
      expect(headers.location).to.equal('/login?failure=provider_refused')
      expect(authLog.map(({ fields }) => fields.code)).to.deep.equal(['answer_invalid'])
    })
  }
})
