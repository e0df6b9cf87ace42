import { expect } from 'chai'
import { setups } from '../../support/sign-in-setup.ts'

describe('attempts to weaken a login', () => {
  const start = setups()

  // Shows: plugin 10.7.
  it('uses PKCE with S256 even if the IdP advertises only plain or nothing', async () => {
    for (const methods of [['plain'], undefined]) {
      const { host, redirectFrom, signIn } = await start({ publishes: { code_challenge_methods_supported: methods } })
      expect((await redirectFrom()).searchParams.get('code_challenge_method')).to.equal('S256')
      expect((await signIn()).page.url).to.equal(host.url)
    }
  })

  // Shows: plugin 10.4.
  it('requests an unusable key set of the IdP only once for each login', async () => {
    const { idp, clock, signIn } = await start()
    for (const body of ['{"keys":[]}', '{"keys":7}', 'no JSON']) {
      idp.faults.set('jwks', { kind: 'answer', status: 200, body })
      const countBefore = idp.requests('jwks')
      expect((await signIn()).me.status, body).to.equal(401)
      expect(idp.requests('jwks') - countBefore, body).to.equal(1)
      await clock.advance(1_000)
    }
  })

  // Shows: plugin 10.4.
  it('sends no request to the IdP for an answer without a pending login', async () => {
    const { host, idp, browser } = await start()
    const stranger = browser()
    const counted = () => (['jwks', 'token', 'userinfo'] as const).map((endpoint) => idp.requests(endpoint))
    const countsBefore = counted()
    const form = Object.entries({ state: 'x', id_token: 'e30.e30.x', code: 'y' })
    await stranger.step(`${host.url}auth-oidc-callback`, { form })
    await stranger.step(`${host.url}auth-oidc-callback?state=x&code=y`)
    expect(counted()).to.deep.equal(countsBefore)
  })
})
