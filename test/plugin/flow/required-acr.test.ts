import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { type Setup, setups } from '../../support/sign-in-setup.ts'

const LEVELS = ['urn:two', 'urn:three']

describe('custom.required_acr', () => {
  const start = setups()

  /** An IdP that signs people in at any level that the test says. */
  async function signedInAt(acr: unknown): Promise<Setup> {
    const setup = await start({ oidc: { custom: { required_acr: LEVELS } } })
    const { idp } = setup
    idp.forgeTokens((genuine) => idp.sign({ ...decodeJwt(genuine), acr }))
    return setup
  }

  // Shows: plugin 5.6.
  it('asks for each that is allowed, and lets in whom the ID token says it of', async () => {
    const setup = await signedInAt('urn:three')
    expect((await setup.asked()).searchParams.get('acr_values')).to.equal('urn:two urn:three')
    expect((await setup.signIn()).page.url).to.equal(setup.host.url)
  })

  for (const [what, acr] of [
    ['of a lower level', 'urn:one'],
    ['of several at once', LEVELS],
    ['without one', undefined],
  ] as const) {
    it(`refuses a login ${what}, and says in the log what came`, async () => {
      const setup = await signedInAt(acr)
      expect((await setup.signIn()).page.url).to.include('login?failure=sign_in_incomplete')
      expect(setup.authLog.at(-1)?.fields).to.deep.include({
        code: 'acr_missing',
        acr: typeof acr === 'string' ? acr : null,
        required: LEVELS,
      })
    })
  }

  it('counts none that UserInfo says', async () => {
    const idp = { claimsIn: 'userinfo', scopes: { profile: ['name', 'acr'] } } as const
    const setup = await start({ oidc: { custom: { required_acr: 'urn:two' } }, idp })
    const claims = { name: 'Dora', email: 'dora@example.test', email_verified: true, acr: 'urn:two' }
    setup.idp.setUser({ username: 'dora', password: 'dora-demo', sub: 'u-2001', claims })
    await setup.signIn('dora')
    expect(setup.authLog.at(-1)?.fields).to.include({ code: 'acr_missing', acr: null })
  })

  const essential = { acr: { essential: true, values: LEVELS } }
  for (const [what, more, acrValues, claims] of [
    ['as an essential claim too where the IdP takes single claims', {}, LEVELS.join(' '), essential],
    [
      'by acr_values alone where it takes none',
      { issuer: { claims_parameter_supported: false } },
      LEVELS.join(' '),
      undefined,
    ],
    [
      'as the administrator writes, who may ask for another',
      { own: { acr_values: 'urn:four' } },
      'urn:four',
      undefined,
    ],
  ] as const) {
    it(`is asked for ${what}`, async () => {
      const { issuer = {}, own = {} } = more as Record<string, Record<string, unknown>>
      const setup = await start({
        oidc: ({ idp }) => ({
          issuer: { issuer: idp.issuer, ...issuer },
          custom: { required_acr: LEVELS, authorization_params: own },
        }),
      })
      const { searchParams: parameters } = await setup.asked()
      expect(parameters.get('acr_values')).to.equal(acrValues)
      const wanted = parameters.get('claims')
      expect(wanted === null ? undefined : JSON.parse(wanted).id_token).to.deep.equal(claims)
    })
  }
})
