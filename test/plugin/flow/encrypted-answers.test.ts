import { expect } from 'chai'
import { CompactEncrypt, CompactSign, compactDecrypt, generateKeyPair, type JWK } from 'jose'
import { makeKey } from '../../support/client-keys.ts'
import { type KeyedOptions, keyedSetups, partsOf } from '../../support/keyed-setup.ts'
import { CLIENT } from '../../support/sign-in-setup.ts'

const encode = (value: unknown) => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value))
const UNSIGNED = Buffer.from('{"alg":"none"}').toString('base64url')

describe('encrypted ID token', () => {
  const start = keyedSetups()
  const rsa = makeKey('RSA', { kid: 'rsa', use: 'enc' })
  const ec = makeKey('P-256', { kid: 'ec', use: 'enc' })
  const alike = (members: Record<string, unknown>, more: KeyedOptions = {}) =>
    start({ keys: [rsa, ec], client: members, registered: members, ...more })
  const AGREED = { id_token_encrypted_response_alg: 'RSA-OAEP' }

  for (const [alg, enc] of [
    ['RSA-OAEP', undefined],
    ['RSA-OAEP-256', 'A256GCM'],
    ['RSA-OAEP-512', 'A256CBC-HS512'],
    ['ECDH-ES', 'A128GCM'],
    ['ECDH-ES+A256KW', 'A192CBC-HS384'],
    ['A128KW', undefined],
    ['A256GCMKW', 'A192GCM'],
    ['dir', 'A128CBC-HS256'],
    ['dir', 'A256CBC-HS512'],
  ] as const) {
    // Shows: plugin 4.7, 4.8.
    it(`decrypts an ID token by ${alg} with ${enc ?? 'the default content encryption'}`, async () => {
      const { idp, signIn } = await alike({
        id_token_encrypted_response_alg: alg,
        ...(enc ? { id_token_encrypted_response_enc: enc } : {}),
      })
      let encrypted = ''
      idp.forgeTokens((genuine) => {
        encrypted = genuine
        return genuine
      })
      expect((await signIn()).me).to.include({ status: 200, id: '~oidc:u-1001', name: 'Alice Example' })
      expect(encrypted.split('.')).to.have.length(5)
      expect(partsOf(encrypted.replace(/\..*/, '.e30'))[0]).to.include({ alg, enc: enc ?? 'A128CBC-HS256' })
    })
  }

  const opened = async (token: string) =>
    new TextDecoder().decode((await compactDecrypt(token, rsa.private as JWK)).plaintext)
  const sealed = (text: string, header = {}, key = rsa.public as Parameters<CompactEncrypt['encrypt']>[0]) =>
    new CompactEncrypt(encode(text))
      .setProtectedHeader({ alg: 'RSA-OAEP', enc: 'A128CBC-HS256', ...header })
      .encrypt(key)

  // Shows: plugin 4.7.
  it('refuses an unencrypted ID token if the client is configured for encryption', async () => {
    for (const responseType of ['code', 'id_token', 'code id_token']) {
      const { idp, signIn } = await alike({ ...AGREED, response_types: [responseType] })
      expect((await signIn()).me, responseType).to.include({ status: 200, id: '~oidc:u-1001' })
      idp.forgeTokens(opened)
      const { me, failure } = await signIn()
      expect(me.status, responseType).to.equal(401)
      expect(failure).to.include({ code: 'id_token_invalid', reason: 'the token is not encrypted' })
    }
  })

  for (const [condition, forge] of [
    ['it has another key encryption than agreed', (text) => sealed(text, { alg: 'RSA-OAEP-256' })],
    ['it has another content encryption than agreed', (text) => sealed(text, { enc: 'A256GCM' })],
    [
      'it was encrypted to another key',
      async (text) => sealed(text, { kid: 'rsa' }, (await generateKeyPair('RSA-OAEP')).publicKey),
    ],
    ['its inner signature is broken', (text) => sealed(`${text.slice(0, -4)}AAAA`)],
  ] as readonly (readonly [string, (text: string) => Promise<string>])[]) {
    // Shows: plugin 4.8.
    it(`refuses an encrypted ID token if ${condition}`, async () => {
      const { idp, signIn } = await alike(AGREED)
      idp.forgeTokens(async (genuine) => forge(await opened(genuine)))
      const { me, failure } = await signIn()
      expect(me.status).to.equal(401)
      expect(failure?.code).to.equal('id_token_invalid')
      expect(failure?.reason).to.match(
        condition.includes('signature') ? /signature/ : /^the token cannot be decrypted$/,
      )
    })
  }

  it('decrypts ID tokens with the previous key while the key file contains it', async () => {
    const fresh = makeKey('P-256', { kid: 'fresh', use: 'enc' })
    const members = { id_token_encrypted_response_alg: 'ECDH-ES' }
    const registered = { ...members, jwks: { keys: [ec.public] } }
    for (const [keys, status] of [
      [[fresh, ec], 200],
      [[fresh], 401],
    ] as const) {
      const { signIn } = await alike(members, { keys, registered })
      expect((await signIn()).me.status).to.equal(status)
    }
  })

  it('tries each suitable key if an encrypted ID token has no key id (kid)', async () => {
    const fresh = makeKey('RSA', { kid: 'fresh', use: 'enc' })
    const { kid: _kid, ...nameless } = rsa.public
    const registered = { ...AGREED, jwks: { keys: [nameless] } }
    const { signIn } = await alike(AGREED, { keys: [fresh, ec, rsa], registered })
    expect((await signIn()).me.status).to.equal(200)
  })

  it('logout sends the decrypted ID token as id_token_hint, never the encrypted one', async () => {
    const { signIn, redirectFrom } = await alike(AGREED)
    const { person } = await signIn()
    const { searchParams } = await redirectFrom('logout', person)
    expect(searchParams.get('id_token_hint')?.split('.')).to.have.length(3)
  })
})

describe('signed or encrypted UserInfo response', () => {
  const start = keyedSetups()
  const rsa = makeKey('RSA', { kid: 'rsa', use: 'enc' })
  const alike = (members: Record<string, unknown>, registered = members) =>
    start({ keys: [rsa], client: members, registered, idp: { claimsIn: 'userinfo' } })
  const ENCRYPTED = { userinfo_encrypted_response_alg: 'RSA-OAEP' }

  for (const [protection, members, reason] of [
    ['signed by RS256', { userinfo_signed_response_alg: 'RS256' }, /./],
    ['signed by ES256', { userinfo_signed_response_alg: 'ES256' }, /./],
    ['signed by HS384', { userinfo_signed_response_alg: 'HS384' }, /^the answer is not signed$/],
    [
      'signed by PS256, then encrypted by RSA-OAEP',
      { userinfo_signed_response_alg: 'PS256', ...ENCRYPTED },
      /^the answer is not encrypted$/,
    ],
    [
      'signed by HS256, then encrypted by A128KW',
      {
        userinfo_signed_response_alg: 'HS256',
        userinfo_encrypted_response_alg: 'A128KW',
        userinfo_encrypted_response_enc: 'A128GCM',
      },
      /^the answer is not encrypted$/,
    ],
  ] as const) {
    // Shows: plugin 4.9, 4.10, 4.11.
    it(`accepts UserInfo ${protection}`, async () => {
      const { idp, signIn } = await alike(members)
      expect((await signIn()).me).to.include({ status: 200, name: 'Alice Example' })
      expect(idp.requests('userinfo')).to.equal(1)
    })

    // Shows: plugin 4.9.
    it(`refuses a plaintext UserInfo response that must be ${protection}`, async () => {
      const { idp, signIn } = await alike(members)
      idp.faults.set('userinfo', { kind: 'answer', status: 200, body: '{"sub":"u-1001","name":"Mallory"}' })
      const { me, failure } = await signIn()
      expect(me.status).to.equal(401)
      expect(failure?.code).to.equal('userinfo_failed')
      expect(failure?.reason).to.match(reason)
    })
  }

  const jwt = (body: string) =>
    ({ kind: 'answer', status: 200, headers: { 'content-type': 'application/jwt' }, body }) as const
  const toClient = (text: string) =>
    new CompactEncrypt(encode(text))
      .setProtectedHeader({ alg: 'RSA-OAEP', enc: 'A128CBC-HS256', kid: 'rsa' })
      .encrypt(rsa.public as JWK)

  // Shows: plugin 4.10.
  it('accepts an encrypted, unsigned UserInfo response if no signature is configured', async () => {
    for (const [agreed, sub, name, code] of [
      [ENCRYPTED, 'u-1001', 'Alice in Cipher', undefined],
      [ENCRYPTED, 'u-1002', undefined, 'userinfo_failed'],
      [{ ...ENCRYPTED, userinfo_signed_response_alg: 'RS256' }, 'u-1001', undefined, 'userinfo_failed'],
    ] as const) {
      // The fixture IdP never encrypts without a signature, so the test replaces its answer.
      const { idp, signIn } = await alike(agreed, {})
      idp.faults.set('userinfo', jwt(await toClient(JSON.stringify({ sub, name: 'Alice in Cipher' }))))
      const { me, failure } = await signIn()
      expect({ name: me.name, code: failure?.code }).to.deep.equal({ name, code })
    }
  })

  it('refuses UserInfo with a broken, foreign or missing signature', async () => {
    const claims = encode({ sub: 'u-1001', name: 'Mallory', aud: 'mesh' })
    const signed = (alg: string, key: string | JWK) =>
      new CompactSign(claims).setProtectedHeader({ alg }).sign(typeof key === 'string' ? encode(key) : key)
    const unsigned = `${UNSIGNED}.${Buffer.from(claims).toString('base64url')}.`
    for (const [alg, body] of [
      ['RS256', await signed('RS256', makeKey('RSA').private as JWK)],
      ['HS256', await signed('HS256', 'guessed-secret')],
      ['RS256', await signed('HS256', CLIENT.client_secret)],
      ['HS256', await signed('HS512', CLIENT.client_secret)],
      ['RS256', unsigned],
      ['HS256', unsigned],
    ] as const) {
      for (const encrypted of [false, true]) {
        const { idp, signIn } = await alike({ userinfo_signed_response_alg: alg, ...(encrypted ? ENCRYPTED : {}) })
        idp.faults.set('userinfo', jwt(encrypted ? await toClient(body) : body))
        const { me, failure } = await signIn()
        expect(me.status, `${alg} ${encrypted}`).to.equal(401)
        expect(failure?.code, `${alg} ${encrypted}`).to.equal('userinfo_failed')
      }
    }
  })
})

describe('ID token signed with the client secret', () => {
  const start = keyedSetups()
  const alike = (members: Record<string, unknown>, more: KeyedOptions = {}) =>
    start({ client: members, registered: members, ...more })

  for (const alg of ['HS256', 'HS384', 'HS512']) {
    // Shows: plugin 4.6.
    it(`verifies an ID token signed with the client secret by ${alg}`, async () => {
      const { signIn } = await alike({ id_token_signed_response_alg: alg })
      expect((await signIn()).me.status).to.equal(200)
    })
  }

  it('refuses an ID token signed with another secret, a public key or no algorithm', async () => {
    for (const [alg, secret] of [
      ['HS256', 'guessed-secret'],
      ['HS256', ''],
      ['HS384', CLIENT.client_secret],
      ['none', ''],
    ] as const) {
      const { idp, signIn } = await alike({ id_token_signed_response_alg: 'HS256' })
      idp.forgeTokens(async (genuine) => {
        if (alg === 'none') return `${UNSIGNED}.${genuine.split('.')[1]}.`
        const key = secret === '' ? await (await fetch(`${idp.issuer}/jwks`)).text() : secret
        return new CompactSign(encode(partsOf(genuine)[1])).setProtectedHeader({ alg }).sign(encode(key))
      })
      const { me, failure } = await signIn()
      expect({ status: me.status, code: failure?.code }, alg).to.deep.equal({ status: 401, code: 'id_token_invalid' })
    }
  })

  it("verifies UserInfo with the IdP's key even if ID tokens use the client secret", async () => {
    const members = { id_token_signed_response_alg: 'HS256', userinfo_signed_response_alg: 'RS256' }
    const { idp, signIn } = await alike(members, { idp: { claimsIn: 'userinfo' } })
    const { person, me } = await signIn()
    expect(me.status).to.equal(200)
    idp.faults.set('userinfo', { kind: 'rewrite', body: (genuine) => `${String(genuine).slice(0, -4)}AAAA` })
    const refused = await signIn('alice', person)
    expect(refused.me.status).to.equal(401)
    expect(refused.failure?.code).to.equal('userinfo_failed')
  })
})
