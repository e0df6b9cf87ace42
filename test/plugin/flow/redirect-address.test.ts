import { expect } from 'chai'
import { answerFromIdp, CLIENT, setups, whoAmI } from '../../support/sign-in-setup.ts'

describe('the redirect address in a whole login', () => {
  const { start, closeAll } = setups()
  afterEach(closeAll)

  for (const path of ['auth-oidc-callback', 'signin/oidc', 'a(b)+c.*/cb', 'cb?of=idp']) {
    it(`may be any path that the server serves: ${path}`, async () => {
      const setup = await start({
        exactly: ({ idp, hostUrl }) => ({
          issuer: idp.issuer,
          newAccounts: true,
          client: { ...CLIENT, redirect_uri: hostUrl + path },
        }),
      })
      const { host, idp, browser } = setup
      await idp.addClient({ ...CLIENT, redirect_uris: [host.url + path] })
      const person = browser()
      const page = await person.login(host.url, 'alice', 'alice-demo')
      expect(page.url, page.text).to.equal(host.url)
      expect(page.trail.some((address) => address.startsWith(host.url + path))).to.equal(true)
      expect((await whoAmI(person, host.url)).status).to.equal(200)
    })
  }

  it('that is not the one registered is refused by the IdP, and nobody is signed in', async () => {
    const { host, idp, browser, authLog } = await start({ registered: { redirect_uris: ['https://mesh.test/other'] } })
    const person = browser()
    const page = await person.get(`${host.url}auth-oidc`)
    expect(page.status).to.equal(400)
    expect(page.url.startsWith(`${idp.issuer}/auth?`)).to.equal(true)
    expect((await whoAmI(person, host.url)).status).to.equal(401)
    expect(authLog).to.deep.equal([])
  })

  it('that is changed at the IdP while a login is under way makes it fail, and the log says what to check', async () => {
    const { host, idp, browser, authLog } = await start()
    const person = browser()
    const answer = await answerFromIdp(person, host.url, 'alice')
    idp.faults.set('token', {
      kind: 'answer',
      status: 400,
      body: JSON.stringify({ error: 'invalid_grant', error_description: 'redirect_uri mismatch' }),
    })
    expect((await person.step(answer)).headers.location).to.match(/^\/login\?failure=provider_refused$/)
    expect(authLog.at(-1)?.fields).to.include({ code: 'token_request_failed', error: 'invalid_grant' })
    expect(authLog.at(-1)?.message).to.include('client.redirect_uri')
  })
})
