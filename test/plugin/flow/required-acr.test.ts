import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { type Setup, setups } from '../../support/sign-in-setup.ts'

const LEVELS = ['urn:two', 'urn:three']

describe('custom.required_acr', () => {
  const start = setups()

  /** Starts an IdP that signs users in at this level. */
  async function signedInAt(acr: unknown): Promise<Setup> {
    const setup = await start({ oidc: { custom: { required_acr: LEVELS } } })
    const { idp } = setup
    idp.forgeTokens((genuine) => idp.sign({ ...decodeJwt(genuine), acr }))
    return setup
  }

  // Shows: plugin 5.6.
  it('requests all levels of required_acr, and admits a user with one of them', async () => {
    const setup = await signedInAt('urn:three')
    expect((await setup.redirectFrom()).searchParams.get('acr_values')).to.equal('urn:two urn:three')
    expect((await setup.signIn()).page.url).to.equal(setup.host.url)
  })

  for (const [condition, acr] of [
    ['at a lower level', 'urn:one'],
    ['with a list of levels', LEVELS],
    ['without a level', undefined],
  ] as const) {
    it(`refuses and logs a login ${condition} if required_acr is set`, async () => {
      const setup = await signedInAt(acr)
      expect((await setup.signIn()).page.url).to.include('login?failure=sign_in_incomplete')
      expect(setup.authLog.at(-1)?.fields).to.deep.include({
        code: 'acr_missing',
        acr: typeof acr === 'string' ? acr : null,
        required: LEVELS,
      })
    })
  }

  it('ignores an acr in UserInfo: only the ID token can satisfy required_acr', async () => {
    const idp = { claimsIn: 'userinfo', scopes: { profile: ['name', 'acr'] } } as const
    const setup = await start({ oidc: { custom: { required_acr: 'urn:two' } }, idp })
    const claims = { name: 'Dora', email: 'dora@example.test', email_verified: true, acr: 'urn:two' }
    setup.idp.setUser({ username: 'dora', password: 'dora-demo', sub: 'u-2001', claims })
    await setup.signIn('dora')
    expect(setup.authLog.at(-1)?.fields).to.include({ code: 'acr_missing', acr: null })
  })

  const essential = { acr: { essential: true, values: LEVELS } }
  for (const [way, more, acrValues, claims] of [
    ['also as an essential claim if the IdP supports claims', {}, LEVELS.join(' '), essential],
    [
      'by acr_values alone if the IdP does not',
      { issuer: { claims_parameter_supported: false } },
      LEVELS.join(' '),
      undefined,
    ],
    ['that authorization_params set instead', { params: { acr_values: 'urn:four' } }, 'urn:four', undefined],
  ] as const) {
    it(`requests required_acr ${way}`, async () => {
      const { issuer = {}, params = {} } = more as Record<string, Record<string, unknown>>
      const setup = await start({
        oidc: ({ idp }) => ({
          issuer: { issuer: idp.issuer, ...issuer },
          custom: { required_acr: LEVELS, authorization_params: params },
        }),
      })
      const { searchParams: parameters } = await setup.redirectFrom()
      expect(parameters.get('acr_values')).to.equal(acrValues)
      const wanted = parameters.get('claims')
      expect(wanted === null ? undefined : JSON.parse(wanted).id_token).to.deep.equal(claims)
    })
  }
})
