import { expect } from 'chai'
import { type ClientKeyPair, makeKey, PRIVATE_MEMBERS } from '../../support/client-keys.ts'
import { type KeyedSetup, keyedSetups, partsOf } from '../../support/keyed-setup.ts'

const BY_KEY = { token_endpoint_auth_method: 'private_key_jwt' }
const signedBy = (alg: string) => ({ ...BY_KEY, token_endpoint_auth_signing_alg: alg })
/** Returns header and claims of each client assertion that the IdP received. */
const assertionsIn = ({ sent }: KeyedSetup) =>
  sent.flatMap(({ form }) => (form.has('client_assertion') ? [partsOf(form.get('client_assertion')!)] : []))

describe('login by a client with private keys', () => {
  const start = keyedSetups()
  /** Signs in with a client that authenticates by these keys. */
  const signedIn = async (keys: readonly ClientKeyPair[], client: object = BY_KEY) => {
    const members = { ...client }
    const setup = await start({ keys, client: members, registered: members })
    const { person, page, me } = await setup.signIn()
    expect(page.url, JSON.stringify(setup.authLog)).to.equal(setup.host.url)
    expect(me).to.include({ id: '~oidc:u-1001' })
    return { ...setup, setup, person }
  }

  for (const [alg, kind] of [
    ['RS256', 'RSA'],
    ['PS512', 'RSA'],
    ['ES256', 'P-256'],
    ['EdDSA', 'Ed25519'],
  ] as const) {
    // Shows: plugin 4.21.
    it(`authenticates by private_key_jwt with ${alg}`, async () => {
      const { setup, sent } = await signedIn([makeKey(kind, { kid: 'mine', use: 'sig' })], signedBy(alg))
      expect(assertionsIn(setup)[0]?.[0]).to.deep.equal({ alg, kid: 'mine', typ: 'JWT' })
      const { form } = sent.find(({ method }) => method === 'POST')!
      expect(form.get('client_assertion_type')).to.equal('urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
      expect(form.has('client_secret')).to.equal(false)
    })
  }

  it('each client assertion is new, names the issuer as audience, and lasts a minute', async () => {
    const startedAt = Date.now()
    const { setup, host, idp, person } = await signedIn([makeKey('P-256')])
    await person.get(`${host.url}auth-oidc`)
    const [first, second] = assertionsIn(setup)
    const [header, claims] = first!
    expect(header).to.deep.equal({ alg: 'ES256', typ: 'JWT' })
    expect(claims).to.include({ iss: 'mesh', sub: 'mesh', aud: idp.issuer })
    expect(Number(claims.exp) - Number(claims.iat)).to.equal(60)
    expect(Number(claims.iat) * 1000).to.be.within(startedAt - 1000, Date.now())
    expect(claims.jti).to.be.a('string').and.not.equal(second?.[1].jti)
  })

  // The fixture IdP does not support ES384.
  const [p384, ed25519, p256] = [
    makeKey('P-384', { kid: 'a' }),
    makeKey('Ed25519', { kid: 'b' }),
    makeKey('P-256', { kid: 'c' }),
  ]

  // Shows: plugin 8.11.
  it('signs client assertions with the first key whose algorithm the IdP supports', async () => {
    const { setup } = await signedIn([p384, ed25519, p256])
    expect(assertionsIn(setup)[0]?.[0].kid).to.equal('b')
  })

  it("refuses and logs a login if the IdP supports none of the keys' algorithms", async () => {
    const { redirectFrom, authLog, sent } = await start({ keys: [p384], client: BY_KEY, registered: BY_KEY })
    expect((await redirectFrom()).search).to.equal('?failure=not_configured')
    expect(authLog.at(-1)?.fields).to.include({
      code: 'client_keys_missing',
      member: 'client.token_endpoint_auth_method',
    })
    expect(sent.some(({ method }) => method === 'POST')).to.equal(false)
  })

  it('client assertions have the certificate thumbprints that the key file contains', async () => {
    const { setup } = await signedIn([{ ...p256, private: { ...p256.private, x5t: 'abc', 'x5t#S256': 'def' } }])
    expect(assertionsIn(setup)[0]?.[0]).to.include({ x5t: 'abc', 'x5t#S256': 'def' })
  })

  it("a login fails if the IdP does not know the client's key; no key is logged", async () => {
    const jwks = { keys: [makeKey('P-256', { kid: 'c' }).public] }
    const { idp, signIn, authLog, output } = await start({
      keys: [p256],
      client: BY_KEY,
      registered: { ...BY_KEY, jwks },
    })
    const { page, failure } = await signIn()
    expect(idp.requests('token')).to.equal(2)
    expect(page.url).to.match(/failure=provider_refused$/)
    expect(failure).to.include({ code: 'token_request_failed', error: 'invalid_client' })
    const everything = JSON.stringify(authLog) + output.join('')
    expect(everything).to.not.include(p256.private.d)
    expect(everything).to.not.include('eyJ').and.not.include('assertion-audience')
  })
})

describe('route auth-oidc-jwks', () => {
  const start = keyedSetups()

  // Shows: plugin 8.11.
  it('auth-oidc-jwks publishes the public half of every key, cacheable for 5 minutes', async () => {
    const keys = [
      makeKey('RSA', { kid: 'r', use: 'sig', alg: 'PS256' }),
      makeKey('P-256', { kid: 'e', use: 'enc' }),
      makeKey('Ed25519', { kid: 'd', use: 'sig' }),
      makeKey('X25519', { kid: 'x', use: 'enc', alg: 'ECDH-ES' }),
    ]
    const { host } = await start({ keys })
    const answer = await fetch(`${host.url}auth-oidc-jwks`)
    expect(answer.status).to.equal(200)
    expect(answer.headers.get('content-type')).to.match(/^application\/jwk-set\+json/)
    expect(answer.headers.get('cache-control')).to.equal('public, max-age=300')
    const set = (await answer.json()) as { keys: object[] }
    expect(set).to.deep.equal({ keys: keys.map((key) => key.public) })
    for (const key of set.keys) expect(Object.keys(key)).to.not.include.members(PRIVATE_MEMBERS)
  })

  // Shows: plugin 4.35.
  it('auth-oidc-jwks lists a key once for each use and algorithm in the configuration', async () => {
    const keys = [makeKey('RSA', { kid: 'both' }), makeKey('P-256', { kid: 'signs' }), makeKey('RSA', { kid: 'other' })]
    const published = async (client: object) => {
      const { host } = await start({ keys, client: { ...client } })
      const set = (await (await fetch(`${host.url}auth-oidc-jwks`)).json()) as { keys: Record<string, unknown>[] }
      return set.keys.map(({ kid, use, alg }) => [kid, use, alg])
    }
    const encrypted = { id_token_encrypted_response_alg: 'RSA-OAEP', userinfo_encrypted_response_alg: 'RSA-OAEP-256' }
    expect(await published({ ...signedBy('PS256'), ...encrypted })).to.deep.equal([
      ['both', 'sig', 'PS256'],
      ['both', 'enc', 'RSA-OAEP-256'],
      ['both', 'enc', 'RSA-OAEP'],
      ['signs', 'sig', 'ES256'],
      ['other', 'sig', 'PS256'],
      ['other', 'enc', 'RSA-OAEP-256'],
      ['other', 'enc', 'RSA-OAEP'],
    ])
    // One key with two algorithms: an IdP that saw only one of them would refuse the other.
    expect((await published({ ...signedBy('PS256'), request_object_signing_alg: 'RS256' }))[0]).to.deep.equal([
      'both',
      'sig',
      undefined,
    ])
  })

  // Shows: plugin 8.11.
  it('the IdP verifies assertions and encrypts ID tokens with keys of auth-oidc-jwks', async () => {
    const pair = [makeKey('P-256', { kid: 's', use: 'sig' }), makeKey('RSA', { kid: 'e', use: 'enc' })]
    for (const [keys, members, alg] of [
      [pair, { id_token_encrypted_response_alg: 'RSA-OAEP-256' }, 'ES256'],
      // Everything else is signed by the algorithm that the key is published with.
      [[makeKey('RSA', { kid: 'r' })], { request_object_signing_alg: 'PS256' }, 'PS256'],
    ] as const) {
      const client = { ...BY_KEY, ...members }
      const setup = await start({ keys, client })
      await setup.register({ ...client, jwks: undefined, jwks_uri: `${setup.host.url}auth-oidc-jwks` })
      expect((await setup.signIn()).me.status).to.equal(200)
      expect(assertionsIn(setup)[0]?.[0].alg).to.equal(alg)
    }
  })

  it('auth-oidc-jwks answers 404 if its domain has no keys or has configuration errors', async () => {
    const [without, broken] = [await start(), await start({ host: { credentials: { '': { jwksFile: '/nowhere' } } } })]
    for (const { host } of [without, broken]) {
      const answer = await fetch(`${host.url}auth-oidc-jwks`)
      expect(answer.status).to.equal(404)
      expect(answer.headers.get('cache-control')).to.equal('no-store')
    }
  })
})
