import { expect } from 'chai'
import { setups } from '../../support/sign-in-setup.ts'

describe('login initiated by a third party', () => {
  const start = setups()

  for (const method of ['GET', 'POST'] as const) {
    // Shows: plugin 9.18.
    it(`a third-party-initiated login uses login_hint and target_link_uri (${method})`, async () => {
      const { host, idp, browser } = await start()
      const person = browser()
      const fields = [
        ['iss', idp.issuer],
        ['login_hint', 'alice@example.test'],
        ['target_link_uri', `${host.url}api/me?x=1`],
      ] as const
      const { status, headers } = await (method === 'POST'
        ? person.step(`${host.url}auth-oidc`, { form: fields })
        : person.step(`${host.url}auth-oidc?${new URLSearchParams(Object.fromEntries(fields))}`))
      expect(status).to.equal(302)
      const authorization = new URL(headers.location!)
      expect(authorization.searchParams.get('login_hint')).to.equal('alice@example.test')
      expect(authorization.origin).to.equal(new URL(idp.issuer).origin)
      const page = await person.signIn(await person.get(authorization.href), 'alice', 'alice-demo')
      expect(page.url).to.equal(`${host.url}api/me?x=1`)
    })
  }

  // Shows: plugin 9.18.
  it("refuses and logs a third-party-initiated login unless iss is the domain's issuer", async () => {
    const { host, idp, browser, authLog } = await start()
    for (const query of [
      'iss=https%3A%2F%2Fevil.test',
      'iss=',
      `iss=${idp.issuer}&iss=https%3A%2F%2Fevil.test`,
      `iss=${idp.issuer}x`,
    ]) {
      const { headers } = await browser().step(`${host.url}auth-oidc?${query}`)
      expect(headers.location, query).to.equal('/login?failure=login_failed')
      expect(headers['set-cookie'], query).to.equal(undefined)
      expect(authLog.at(-1)?.fields.code, query).to.equal('initiation_refused')
    }
    expect(authLog[0]?.fields.iss).to.equal('https://evil.test')
    expect(idp.requests('authorization')).to.equal(0)
  })

  it('a third-party-initiated login ignores a target_link_uri on another site', async () => {
    const { host, idp, signIn } = await start()
    const { person } = await signIn()
    for (const target of [
      'https://evil.test/',
      `${host.url.slice(0, -1)}.evil.test/`,
      `${host.url.replace('http://', 'http://x@evil.test:80/')}`,
      '//evil.test',
      'javascript:alert(1)',
      `${host.url}logout`,
      `${host.url}/evil.test`,
    ]) {
      const query = new URLSearchParams({ iss: idp.issuer, target_link_uri: target, return: target })
      expect((await person.get(`${host.url}auth-oidc?${query}`)).trail.at(-1), target).to.equal(host.url)
    }
  })

  it('ignores a login_hint that is long, repeated, empty or has control characters', async () => {
    const { redirectFrom } = await start()
    const hint = async (query: string) => (await redirectFrom(`auth-oidc?${query}`)).searchParams.get('login_hint')
    expect(await hint(`login_hint=${'x'.repeat(255)}`)).to.equal('x'.repeat(255))
    expect(await hint(`login_hint=${'x'.repeat(256)}`)).to.equal(null)
    expect(await hint('login_hint=a&login_hint=b')).to.equal(null)
    expect(await hint('login_hint=%20%0A')).to.equal(null)
    expect(await hint('login_hint=al%0D%0Aice%00')).to.equal('alice')
  })
})

describe('custom.authorization_params', () => {
  const start = setups()

  // Shows: plugin 5.7.
  it('adds authorization_params to every authorization request', async () => {
    const { redirectFrom } = await start({
      oidc: { custom: { authorization_params: { prompt: 'login', ui_locales: 'de en' } } },
    })
    const parameters = Object.fromEntries((await redirectFrom()).searchParams)
    expect(parameters).to.include({ prompt: 'login', ui_locales: 'de en', response_type: 'code' })
  })
})
