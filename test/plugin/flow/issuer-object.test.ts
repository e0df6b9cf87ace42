import { expect } from 'chai'
import { type Doors, openDoors } from '../../support/doors.ts'
import { keyedSetups, partsOf } from '../../support/keyed-setup.ts'
import { CLIENT, type Setup } from '../../support/sign-in-setup.ts'

/** Members of the issuer object, and the path that the IdP publishes for each. */
const ENDPOINTS = {
  authorization_endpoint: '/auth',
  token_endpoint: '/token',
  jwks_uri: '/jwks',
  userinfo_endpoint: '/me',
  introspection_endpoint: '/token/introspection',
  revocation_endpoint: '/token/revocation',
} as const
type Member = keyof typeof ENDPOINTS

describe('login with an issuer object', () => {
  const start = keyedSetups()
  let doors: Doors
  beforeEach(async () => {
    doors = await openDoors()
  })
  afterEach(() => doors.close())

  /** Returns extra addresses that lead to these endpoints. */
  const doorsTo = (members: readonly Member[], issuer: string) =>
    Object.fromEntries(members.map((member) => [member, doors.to(member, issuer + ENDPOINTS[member])]))

  /** Signs in, asks the IdP about the session, and signs out. */
  async function wholeRound({ host, signIn }: Setup) {
    const { person, page, me } = await signIn()
    expect(page.url).to.equal(host.url)
    expect(me).to.include({ id: '~oidc:u-1001', name: 'Alice Example' })
    const { state } = JSON.parse((await person.step(`${host.url}api/session`)).body) as { state: string }
    const goodbye = await person.get(`${host.url}logout`)
    return { state, goodbye }
  }

  // Shows: plugin 2.7, 3.2, 3.3, 3.4, 3.5, 3.6, 3.7, 3.8.
  it('uses each endpoint as configured, or as published if it is not configured', async () => {
    const members = Object.keys(ENDPOINTS) as Member[]
    const setup = await start({
      oidc: ({ idp: { issuer } }) => ({
        issuer: { issuer, ...doorsTo(members, issuer), registration_endpoint: doors.to('registration', issuer) },
      }),
      idp: { claimsIn: 'userinfo' },
    })
    const { state, goodbye } = await wholeRound(setup)
    expect(state).to.equal('active')
    expect(goodbye.text).to.include('Sign out of Example Identity?')
    expect(goodbye.trail[1]).to.match(new RegExp(`^${setup.idp.issuer}/session/end\\?`))
    for (const member of members) {
      const endpoint = member === 'jwks_uri' ? 'jwks' : member.replace(/_endpoint$/, '')
      expect(doors.visits(member), member).to.be.above(0)
      expect(doors.visits(member), member).to.equal(setup.idp.requests(endpoint as 'token'))
    }
    // An administrator registers the client, not the plugin.
    expect(doors.visits('registration')).to.equal(0)
  })

  // Shows: plugin 2.9.
  it('login and logout use configured endpoints if discovery fails', async () => {
    const { idp } = await start({ idp: { claimsIn: 'userinfo' } })
    idp.faults.set('discovery', { kind: 'answer', status: 404 })
    idp.faults.set('logout', { kind: 'answer', status: 200, body: 'bye' })
    const { introspection_endpoint: _, revocation_endpoint: __, ...needed } = ENDPOINTS
    const byHand = Object.entries(needed).map(([member, path]) => [member, idp.issuer + path])
    const setup = await start({ oidc: { issuer: { issuer: idp.issuer, ...Object.fromEntries(byHand) } } })
    await idp.addClient({ ...CLIENT, redirect_uris: [`${setup.host.url}auth-oidc-callback`] })
    const { goodbye } = await wholeRound(setup)
    expect(goodbye.url).to.match(new RegExp(`^${idp.issuer}/logout\\?`))
    expect(idp.requests('discovery')).to.be.above(1)
  })

  // Shows: plugin 3.17.
  it('ignores mtls_endpoint_aliases if the client has no certificate', async () => {
    const aliased = ['token', 'userinfo', 'introspection', 'revocation'].map((name) => `${name}_endpoint` as Member)
    const setup = await start({
      oidc: ({ idp: { issuer } }) => ({ issuer: { issuer, mtls_endpoint_aliases: doorsTo(aliased, issuer) } }),
      idp: { claimsIn: 'userinfo' },
    })
    expect((await wholeRound(setup)).state).to.equal('active')
    for (const member of aliased) expect(doors.visits(member), member).to.equal(0)
  })

  // Shows: plugin 3.13, 3.14, 3.15.
  it('signs at each endpoint with an algorithm configured for that endpoint', async () => {
    const members = {
      client_secret: 'a-client-secret-that-is-long-enough-for-every-HS-algorithm-there-is',
      token_endpoint_auth_method: 'client_secret_jwt',
    }
    const setup = await start({
      oidc: ({ idp: { issuer } }) => ({
        issuer: {
          issuer,
          token_endpoint_auth_signing_alg_values_supported: 'RS256, HS384',
          introspection_endpoint_auth_signing_alg_values_supported: 'HS512',
          revocation_endpoint_auth_signing_alg_values_supported: 'HS256',
        },
      }),
      client: members,
      registered: members,
    })
    await wholeRound(setup)
    const signed = setup.sent.filter(({ form }) => form.has('client_assertion'))
    expect(signed.map(({ form }) => partsOf(form.get('client_assertion')!)[0].alg)).to.deep.equal([
      'HS384',
      'HS512',
      'HS256',
    ])
  })
})
