import { expect } from 'chai'
import { compactDecrypt, decodeJwt, type JWK } from 'jose'
import { makeKey } from '../../support/client-keys.ts'
import { type KeyedOptions, keyedSetups, partsOf } from '../../support/keyed-setup.ts'

describe('request object', () => {
  const start = keyedSetups()
  const keys = [makeKey('RSA', { kid: 'r' }), makeKey('P-256', { kid: 'e' }), makeKey('Ed25519', { kid: 'd' })]
  const STRICT = { require_signed_request_object: true }
  const startWith = (members: Record<string, unknown>, more: KeyedOptions = {}) =>
    start({ keys, client: members, registered: { ...members, ...STRICT }, ...more })

  for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256', 'HS512']) {
    // Shows: plugin 4.13, 4.15.
    it(`signs all parameters of a request object by ${alg}`, async () => {
      const { host, idp, redirectFrom, signIn } = await startWith({
        request_object_signing_alg: alg,
        default_max_age: 3600,
      })
      const { searchParams } = await redirectFrom()
      const [header, claims] = partsOf(searchParams.get('request')!)
      expect(header).to.include({ alg, typ: 'oauth-authz-req+jwt' })
      expect(claims).to.include({
        iss: 'mesh',
        aud: idp.issuer,
        client_id: 'mesh',
        redirect_uri: `${host.url}auth-oidc-callback`,
        response_type: 'code',
        scope: 'openid profile email',
        code_challenge_method: 'S256',
        max_age: 3600,
      })
      for (const name of ['state', 'nonce', 'code_challenge', 'jti']) expect(claims[name]).to.be.a('string')
      expect(Number(claims.exp) - Number(claims.iat)).to.equal(300)
      // Anyone on the way could change the query, so it has only these parameters.
      expect([...searchParams.keys()].sort()).to.deep.equal(['client_id', 'request', 'response_type', 'scope'])
      expect((await signIn()).me.status).to.equal(200)
    })
  }

  for (const [alg, enc] of [
    ['RSA-OAEP-256', 'A256GCM'],
    ['ECDH-ES+A128KW', undefined],
    ['A256KW', 'A128GCM'],
    ['dir', 'A256CBC-HS512'],
  ] as const) {
    // Shows: plugin 4.16, 4.17.
    it(`signs the request object, then encrypts it to the IdP by ${alg}`, async () => {
      const { host, redirectFrom, signIn } = await startWith({
        request_object_signing_alg: 'PS256',
        request_object_encryption_alg: alg,
        ...(enc ? { request_object_encryption_enc: enc } : {}),
      })
      const request = (await redirectFrom()).searchParams.get('request')!
      expect(request.split('.')).to.have.length(5)
      expect(partsOf(request.replace(/\..*/, '.e30'))[0]).to.include({ alg, enc: enc ?? 'A128CBC-HS256', cty: 'JWT' })
      expect((await signIn()).page.url).to.equal(host.url)
    })
  }

  const ENCRYPTED = { request_object_signing_alg: 'ES256', request_object_encryption_alg: 'RSA-OAEP' }

  it("encrypts the request object to the IdP's current key for encryption", async () => {
    const { host, idp, redirectFrom, signIn } = await startWith(ENCRYPTED)
    await redirectFrom()
    await idp.rotateKeys({ withdraw: true })
    expect((await signIn()).page.url).to.equal(host.url)
    const [signing, encrypting] = [makeKey('RSA', { kid: 's', use: 'sig' }), makeKey('RSA', { kid: 'e', use: 'enc' })]
    const set = { keys: [signing.public, encrypting.public] }
    idp.faults.set('jwks', { kind: 'answer', status: 200, body: JSON.stringify(set) })
    const request = (await redirectFrom()).searchParams.get('request')!
    const opened = await compactDecrypt(request, encrypting.private as JWK)
    expect(opened.protectedHeader.kid).to.equal('e')
    expect(partsOf(new TextDecoder().decode(opened.plaintext))[1]).to.include({ client_id: 'mesh' })
  })

  for (const [condition, fault, code] of [
    ['publishes no encryption key', { kind: 'answer', status: 200, body: '{"keys":[]}' }, 'metadata_incomplete'],
    ['publishes an invalid key set', { kind: 'answer', status: 200, body: '{"keys":7}' }, 'metadata_incomplete'],
    ['answers the key request with 500', { kind: 'answer', status: 500 }, 'metadata_incomplete'],
    ['does not answer the key request', { kind: 'reset' }, 'provider_unreachable'],
  ] as const) {
    it(`a login fails before the redirect if the IdP ${condition}`, async () => {
      const { idp, redirectFrom, authLog } = await startWith(ENCRYPTED)
      idp.faults.set('jwks', fault)
      expect((await redirectFrom()).search).to.match(/^\?failure=/)
      expect(authLog.at(-1)?.fields.code).to.equal(code)
    })
  }
})

describe('time of authentication at the IdP', () => {
  const start = keyedSetups()

  // Shows: plugin 4.14.
  it('require_auth_time requests auth_time, and refuses an ID token without it', async () => {
    for (const responseType of ['code', 'id_token', 'code id_token']) {
      // The IdP does not know the requirement, so the request must contain it.
      const registered = { response_types: [responseType] }
      const { host, idp, redirectFrom, signIn } = await start({
        client: { require_auth_time: true, ...registered },
        registered,
      })
      const claims = (await redirectFrom()).searchParams.get('claims')
      expect(JSON.parse(claims!)).to.deep.equal({ id_token: { auth_time: { essential: true } } })
      expect((await signIn()).page.url, responseType).to.equal(host.url)
      idp.forgeTokens((genuine) => idp.sign({ ...decodeJwt(genuine), auth_time: undefined }))
      const { page, failure } = await signIn()
      expect(page.url, responseType).to.match(/failure=login_failed$/)
      expect(failure?.code).to.equal('id_token_invalid')
    }
  })
})
