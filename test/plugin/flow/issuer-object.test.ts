import { expect } from 'chai'
import { makeClientCertificate } from '../../../fixtures/certificate.ts'
import { createClientFolder } from '../../support/client-keys.ts'
import { type Doors, openDoors } from '../../support/doors.ts'
import { CLIENT, type Places, type Setup, setups, whoAmI } from '../../support/sign-in-setup.ts'

/** Members of the Issuer object and the path that the IdP itself publishes. */
const ENDPOINTS = {
  authorization_endpoint: '/auth',
  token_endpoint: '/token',
  jwks_uri: '/jwks',
  userinfo_endpoint: '/me',
  introspection_endpoint: '/token/introspection',
  revocation_endpoint: '/token/revocation',
  end_session_endpoint: '/session/end',
} as const

describe('the issuer object in a whole login', () => {
  const { start, closeAll } = setups()
  let doors: Doors
  beforeEach(async () => {
    doors = await openDoors()
  })
  afterEach(async () => {
    await closeAll()
    await doors.close()
  })

  /** Signs in, asks the IdP about the session, and signs out. */
  async function wholeRound({ host, browser }: Setup) {
    const person = browser()
    const page = await person.login(host.url, 'alice', 'alice-demo')
    expect(page.url).to.equal(host.url)
    expect(await whoAmI(person, host.url)).to.include({ id: '~oidc:u-1001', name: 'Alice Example' })
    const { state } = JSON.parse((await person.step(`${host.url}api/session`)).body) as { state: string }
    const goodbye = await person.get(`${host.url}logout`)
    return { state, goodbye }
  }

  it('asks at every endpoint that is set by hand, not where the IdP says, and where that says for the rest', async () => {
    const setup = await start({
      oidc: ({ idp }) => {
        const { end_session_endpoint: _, ...others } = ENDPOINTS
        const byHand = Object.entries(others).map(([member, path]) => [member, doors.to(member, idp.issuer + path)])
        return { issuer: { issuer: idp.issuer, ...Object.fromEntries(byHand) } }
      },
      idp: { claimsIn: 'userinfo' },
    })
    const { state, goodbye } = await wholeRound(setup)
    expect(state).to.equal('active')
    expect(goodbye.text).to.include('Sign out of Example Identity?')
    expect(goodbye.trail[1]).to.match(new RegExp(`^${setup.idp.issuer}/session/end\\?`))
    for (const member of Object.keys(ENDPOINTS).filter((name) => name !== 'end_session_endpoint')) {
      const endpoint = member === 'jwks_uri' ? 'jwks' : member.replace(/_endpoint$/, '')
      expect(doors.visits(member), member).to.be.above(0)
      expect(doors.visits(member), member).to.equal(setup.idp.requests(endpoint as 'token'))
    }
  })

  it('fails where an endpoint set by hand leads nowhere, though the one of the IdP works', async () => {
    const setup = await start({
      oidc: ({ idp }) => ({ issuer: { issuer: idp.issuer, token_endpoint: `${idp.issuer}/nowhere` } }),
    })
    const page = await setup.browser().login(setup.host.url, 'alice', 'alice-demo')
    expect(page.url).to.match(/\/login\?failure=/)
    expect(setup.idp.requests('token')).to.equal(0)
  })

  it('accepts registration_endpoint and never asks there: the client is registered by an administrator', async () => {
    const setup = await start({
      oidc: ({ idp }) => ({
        issuer: { issuer: idp.issuer, registration_endpoint: doors.to('registration_endpoint', idp.issuer) },
      }),
    })
    await wholeRound(setup)
    expect(doors.visits('registration_endpoint')).to.equal(0)
    expect(setup.authLog.filter(({ level }) => level !== 'info')).to.deep.equal([])
  })

  it('takes the issuer as an object with that member alone', async () => {
    const setup = await start({ oidc: ({ idp }) => ({ issuer: { issuer: idp.issuer } }) })
    await wholeRound(setup)
    expect(setup.idp.requests('discovery')).to.equal(1)
  })

  it('works without discovery when everything needed is set by hand, and the address after logout is <issuer>/logout', async () => {
    const byHand = ({ idp }: Places) => ({
      issuer: {
        issuer: idp.issuer,
        authorization_endpoint: `${idp.issuer}/auth`,
        token_endpoint: `${idp.issuer}/token`,
        jwks_uri: `${idp.issuer}/jwks`,
        userinfo_endpoint: `${idp.issuer}/me`,
      },
    })
    const setup = await start({ idp: { claimsIn: 'userinfo' } })
    setup.idp.faults.set('discovery', { kind: 'answer', status: 404 })
    const { host, browser } = await start({ oidc: () => byHand({ idp: setup.idp, port: 0, hostUrl: '' }) })
    await setup.idp.addClient({ ...CLIENT, redirect_uris: [`${host.url}auth-oidc-callback`] })
    const person = browser()
    expect((await person.login(host.url, 'alice', 'alice-demo')).url).to.equal(host.url)
    expect(await whoAmI(person, host.url)).to.include({ id: '~oidc:u-1001', name: 'Alice Example' })
    setup.idp.faults.set('logout', { kind: 'answer', status: 200, body: 'bye' })
    const { headers } = await person.step(`${host.url}logout`)
    expect(headers.location).to.match(new RegExp(`^${setup.idp.issuer}/logout\\?`))
    expect(setup.idp.requests('discovery')).to.be.above(1)
  })

  it('goes to <issuer>/logout where the IdP publishes no end-session endpoint and none is set', async () => {
    const setup = await start()
    setup.idp.faults.set('discovery', {
      kind: 'rewrite',
      body: (found) => ({ ...(found as object), end_session_endpoint: undefined }),
    })
    const { host, browser } = await start({ oidc: { issuer: setup.idp.issuer } })
    await setup.idp.addClient({ ...CLIENT, redirect_uris: [`${host.url}auth-oidc-callback`] })
    const person = browser()
    await person.login(host.url, 'alice', 'alice-demo')
    setup.idp.faults.set('logout', { kind: 'answer', status: 200, body: 'bye' })
    const address = new URL((await person.step(`${host.url}logout`)).headers.location ?? '')
    expect(address.origin + address.pathname).to.equal(`${setup.idp.issuer}/logout`)
  })

  for (const [certified, shown] of [
    [true, 'is'],
    [false, 'is not'],
  ] as const) {
    it(`${certified ? 'asks' : 'does not ask'} at each of mtls_endpoint_aliases where a client certificate ${shown} configured`, async () => {
      const folder = await createClientFolder()
      try {
        const { cert, key } = await makeClientCertificate()
        const files = { tlsCertFile: await folder.write('c.pem', cert), tlsKeyFile: await folder.write('k.pem', key) }
        const aliased = [
          'token_endpoint',
          'userinfo_endpoint',
          'introspection_endpoint',
          'revocation_endpoint',
        ] as const
        const setup = await start({
          oidc: ({ idp }) => {
            const doorsTo = aliased.map((member) => [member, doors.to(member, idp.issuer + ENDPOINTS[member])])
            return { issuer: { issuer: idp.issuer, mtls_endpoint_aliases: Object.fromEntries(doorsTo) } }
          },
          idp: { claimsIn: 'userinfo' },
          host: certified ? { credentials: { '': files } } : {},
        })
        expect((await wholeRound(setup)).state).to.equal('active')
        for (const member of aliased) expect(doors.visits(member), member).to.equal(certified ? 1 : 0)
      } finally {
        await folder.remove()
      }
    })
  }

  describe('with what the IdP supports', () => {
    const METHODS = Object.fromEntries(
      ['token', 'introspection', 'revocation'].map((where) => [`${where}_endpoint_auth_method`, 'client_secret_jwt']),
    )
    const secret = 'a-client-secret-that-is-long-enough-for-every-HS-algorithm-there-is'

    /** The algorithm of each assertion that the host sent, by endpoint. */
    async function algorithms(issuer: object) {
      const used = new Map<string, unknown>()
      const setup = await start({
        oidc: ({ idp }) => ({ issuer: { issuer: idp.issuer, ...issuer } }),
        client: { client_secret: secret, ...METHODS },
        registered: { client_secret: secret, token_endpoint_auth_method: 'client_secret_jwt' },
        host: {
          fetch: (input, init) => {
            const assertion = new URLSearchParams(init?.body instanceof URLSearchParams ? init.body : '').get(
              'client_assertion',
            )
            if (assertion) {
              const header = JSON.parse(Buffer.from(assertion.split('.')[0] ?? '', 'base64url').toString())
              used.set(new URL(String(input)).pathname, header.alg)
            }
            return fetch(input, init)
          },
        },
      })
      await wholeRound(setup)
      return Object.fromEntries(used)
    }

    for (const where of ['token', 'introspection', 'revocation'] as const) {
      const path = ENDPOINTS[`${where}_endpoint`]

      it(`signs at the ${where} endpoint by one of ${where}_endpoint_auth_signing_alg_values_supported`, async () => {
        const used = await algorithms({ [`${where}_endpoint_auth_signing_alg_values_supported`]: 'RS256, HS384' })
        expect(used[path]).to.equal('HS384')
      })
    }

    it('signs by the first of its algorithms where nothing is set by hand', async () => {
      expect(await algorithms({})).to.deep.equal({
        '/token': 'HS256',
        '/token/introspection': 'HS256',
        '/token/revocation': 'HS256',
      })
    })
  })
})
