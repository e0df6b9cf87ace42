import { expect } from 'chai'
import { setups } from '../../support/sign-in-setup.ts'

describe('what an IdP or a stranger would talk a login into', () => {
  const start = setups()

  // Shows: plugin 10.7.
  it('is refused for PKCE: S256 is used even where the IdP advertises only plain, or nothing', async () => {
    for (const methods of [['plain'], undefined]) {
      const { host, asked, signIn } = await start({ publishes: { code_challenge_methods_supported: methods } })
      expect((await asked()).searchParams.get('code_challenge_method')).to.equal('S256')
      expect((await signIn()).page.url).to.equal(host.url)
    }
  })

  // Shows: plugin 10.4.
  it('is no storm of requests for the key set: a login asks once, however useless the answer', async () => {
    const { idp, clock, signIn } = await start()
    for (const body of ['{"keys":[]}', '{"keys":7}', 'no JSON']) {
      idp.faults.set('jwks', { kind: 'answer', status: 200, body })
      const before = idp.requests('jwks')
      expect((await signIn()).who.status, body).to.equal(401)
      expect(idp.requests('jwks') - before, body).to.equal(1)
      await clock.advance(1_000)
    }
  })

  // Shows: plugin 10.4.
  it('is no request to the IdP at all for answers that nobody asked for', async () => {
    const { host, idp, browser } = await start()
    const stranger = browser()
    const counted = () => (['jwks', 'token', 'userinfo'] as const).map((endpoint) => idp.requests(endpoint))
    const before = counted()
    const form = Object.entries({ state: 'x', id_token: 'e30.e30.x', code: 'y' })
    await stranger.step(`${host.url}auth-oidc-callback`, { form })
    await stranger.step(`${host.url}auth-oidc-callback?state=x&code=y`)
    expect(counted()).to.deep.equal(before)
  })
})
