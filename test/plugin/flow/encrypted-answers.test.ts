import { expect } from 'chai'
import { CompactEncrypt, CompactSign, compactDecrypt, type JWK } from 'jose'
import { makeKey } from '../../support/client-keys.ts'
import { type KeyedOptions, type KeyedSetup, keyedSetups, partsOf } from '../../support/keyed-setup.ts'
import { answerFromIdp, CLIENT, whoAmI } from '../../support/sign-in-setup.ts'

const encode = (value: unknown) => new TextEncoder().encode(typeof value === 'string' ? value : JSON.stringify(value))

/** A login with the same members at the host and at the IdP: where it ends, and what the log says of a failure. */
async function loginAt(setup: KeyedSetup) {
  const person = setup.browser()
  const page = await person.login(setup.host.url, 'alice', 'alice-demo')
  const failure = setup.authLog.find(({ event }) => event === 'login-failed')?.fields
  return { in: page.url === setup.host.url, failure, who: await whoAmI(person, setup.host.url) }
}

describe('an encrypted ID token', () => {
  const { start, closeAll } = keyedSetups()
  afterEach(closeAll)
  const rsa = makeKey('RSA', { kid: 'rsa', use: 'enc' })
  const ec = makeKey('P-256', { kid: 'ec', use: 'enc' })
  const alike = (members: Record<string, unknown>, more: KeyedOptions = {}) =>
    start({ keys: [rsa, ec], client: members, registered: members, ...more })

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
    it(`is opened by ${alg} with ${enc ?? 'the default for its content'}`, async () => {
      const setup = await alike({
        id_token_encrypted_response_alg: alg,
        ...(enc ? { id_token_encrypted_response_enc: enc } : {}),
      })
      let encrypted = ''
      setup.idp.forgeTokens((genuine) => {
        encrypted = genuine
        return genuine
      })
      const { who } = await loginAt(setup)
      expect(who).to.include({ status: 200, id: '~oidc:u-1001', name: 'Alice Example' })
      expect(encrypted.split('.')).to.have.length(5)
      expect(partsOf(encrypted.replace(/\..*/, '.e30'))[0]).to.include({ alg, enc: enc ?? 'A128CBC-HS256' })
    })
  }

  for (const responseType of ['id_token', 'code id_token']) {
    it(`is opened where the browser brings it (${responseType})`, async () => {
      const setup = await alike({ id_token_encrypted_response_alg: 'RSA-OAEP', response_types: [responseType] })
      expect((await loginAt(setup)).who).to.include({ status: 200, id: '~oidc:u-1001' })
    })
  }

  it('is held against its signature all the same', async () => {
    const setup = await alike({ id_token_encrypted_response_alg: 'RSA-OAEP' })
    setup.idp.forgeTokens(async (genuine) => {
      const opened = await compactDecrypt(genuine, rsa.private as JWK)
      const broken = `${new TextDecoder().decode(opened.plaintext).slice(0, -4)}AAAA`
      const { kid: _kid, ...key } = rsa.public
      const header = { alg: 'RSA-OAEP', enc: 'A128CBC-HS256' }
      return new CompactEncrypt(encode(broken)).setProtectedHeader(header).encrypt(key as JWK)
    })
    const { who, failure } = await loginAt(setup)
    expect(who.status).to.equal(401)
    expect(failure?.code).to.equal('id_token_invalid')
  })

  it('is demanded: the same token unencrypted is refused', async () => {
    for (const responseType of ['code', 'id_token', 'code id_token']) {
      const setup = await alike({ id_token_encrypted_response_alg: 'RSA-OAEP', response_types: [responseType] })
      setup.idp.forgeTokens(async (genuine) =>
        new TextDecoder().decode((await compactDecrypt(genuine, rsa.private as JWK)).plaintext),
      )
      const { who, failure } = await loginAt(setup)
      expect(who.status, responseType).to.equal(401)
      expect(failure).to.include({ code: 'id_token_invalid', reason: 'the token is not encrypted' })
    }
  })

  it('is refused when it was encrypted in another way than was agreed', async () => {
    for (const [alg, enc] of [
      ['RSA-OAEP-256', 'A128CBC-HS256'],
      ['RSA-OAEP', 'A256GCM'],
    ] as const) {
      const setup = await alike({ id_token_encrypted_response_alg: 'RSA-OAEP' })
      setup.idp.forgeTokens(async (genuine) => {
        const { plaintext } = await compactDecrypt(genuine, rsa.private as JWK)
        return new CompactEncrypt(plaintext).setProtectedHeader({ alg, enc }).encrypt(rsa.public as JWK)
      })
      const { who, failure } = await loginAt(setup)
      expect(who.status).to.equal(401)
      expect(failure).to.include({ code: 'id_token_invalid', reason: 'the token cannot be decrypted' })
    }
  })

  it('is refused when it was encrypted to somebody else', async () => {
    const stranger = makeKey('RSA', { kid: 'rsa', use: 'enc' })
    const members = { id_token_encrypted_response_alg: 'RSA-OAEP' }
    const setup = await alike(members, { registered: { ...members, jwks: { keys: [stranger.public] } } })
    const { who, failure } = await loginAt(setup)
    expect(who.status).to.equal(401)
    expect(failure).to.include({ code: 'id_token_invalid', reason: 'the token cannot be decrypted' })
  })

  it('is refused where none was agreed', async () => {
    const registered = { id_token_encrypted_response_alg: 'RSA-OAEP', jwks: { keys: [rsa.public] } }
    const { who, failure } = await loginAt(await start({ keys: [rsa], registered }))
    expect(who.status).to.equal(401)
    expect(failure?.code).to.equal('id_token_invalid')
  })

  it('is opened by the old key as long as the file has it, and not a login longer', async () => {
    const fresh = makeKey('RSA', { kid: 'fresh', use: 'enc' })
    const members = { id_token_encrypted_response_alg: 'RSA-OAEP' }
    const registered = { ...members, jwks: { keys: [rsa.public] } }
    expect((await loginAt(await alike(members, { keys: [fresh, rsa], registered }))).who.status).to.equal(200)
    expect((await loginAt(await alike(members, { keys: [fresh], registered }))).who.status).to.equal(401)
  })

  it('without a key id is tried with each key that fits', async () => {
    const fresh = makeKey('RSA', { kid: 'fresh', use: 'enc' })
    const members = { id_token_encrypted_response_alg: 'RSA-OAEP' }
    const { kid: _kid, ...nameless } = rsa.public
    const registered = { ...members, jwks: { keys: [nameless] } }
    const setup = await alike(members, { keys: [fresh, ec, rsa], registered })
    expect((await loginAt(setup)).who.status).to.equal(200)
  })

  it('is never the hint of a logout: the IdP gets the token that it signed', async () => {
    const setup = await alike({ id_token_encrypted_response_alg: 'RSA-OAEP' })
    const person = setup.browser()
    await person.login(setup.host.url, 'alice', 'alice-demo')
    const { headers } = await person.step(`${setup.host.url}logout`)
    expect(new URL(headers.location!).searchParams.get('id_token_hint')?.split('.')).to.have.length(3)
  })
})

describe('a UserInfo answer', () => {
  const { start, closeAll } = keyedSetups()
  afterEach(closeAll)
  const rsa = makeKey('RSA', { kid: 'rsa', use: 'enc' })
  const alike = (members: Record<string, unknown>, registered = members) =>
    start({ keys: [rsa], client: members, registered, idp: { claimsIn: 'userinfo' } })

  for (const [what, members] of Object.entries<Record<string, unknown>>({
    'signed by RS256': { userinfo_signed_response_alg: 'RS256' },
    'signed by ES256': { userinfo_signed_response_alg: 'ES256' },
    'signed by HS384': { userinfo_signed_response_alg: 'HS384' },
    'signed by PS256, then encrypted by RSA-OAEP': {
      userinfo_signed_response_alg: 'PS256',
      userinfo_encrypted_response_alg: 'RSA-OAEP',
    },
    'signed by HS256, then encrypted by A128KW': {
      userinfo_signed_response_alg: 'HS256',
      userinfo_encrypted_response_alg: 'A128KW',
      userinfo_encrypted_response_enc: 'A128GCM',
    },
  })) {
    it(`${what} is read`, async () => {
      const setup = await alike(members)
      expect((await loginAt(setup)).who).to.include({ status: 200, name: 'Alice Example' })
      expect(setup.idp.requests('userinfo')).to.equal(1)
    })

    it(`that is plain is refused where it should be ${what}`, async () => {
      const setup = await alike(members)
      setup.idp.faults.set('userinfo', { kind: 'answer', status: 200, body: '{"sub":"u-1001","name":"Mallory"}' })
      const { who, failure } = await loginAt(setup)
      expect(who.status).to.equal(401)
      expect(failure?.code).to.equal('userinfo_failed')
      if ('userinfo_encrypted_response_alg' in members) expect(failure?.reason).to.equal('the answer is not encrypted')
      else if (what.includes('HS')) expect(failure?.reason).to.equal('the answer is not signed')
    })
  }

  const jwt = (body: string) =>
    ({ kind: 'answer', status: 200, headers: { 'content-type': 'application/jwt' }, body }) as const
  const toClient = (text: string) =>
    new CompactEncrypt(encode(text))
      .setProtectedHeader({ alg: 'RSA-OAEP', enc: 'A128CBC-HS256', kid: 'rsa' })
      .encrypt(rsa.public as JWK)

  it('that is encrypted alone is read where no signature was agreed, and refused where one was', async () => {
    const claims = JSON.stringify({ sub: 'u-1001', name: 'Alice in Cipher', email: 'a@example.test' })
    for (const [signature, status] of [
      [{}, 200],
      [{ userinfo_signed_response_alg: 'RS256' }, 401],
    ] as const) {
      const members = { ...signature, userinfo_encrypted_response_alg: 'RSA-OAEP' }
      // The provider of these tests never encrypts without a signature: the answer below does.
      const setup = await alike(members, {})
      setup.idp.faults.set('userinfo', jwt(await toClient(claims)))
      const { who, failure } = await loginAt(setup)
      expect(who.status).to.equal(status)
      if (status === 200) expect(who.name).to.equal('Alice in Cipher')
      else expect(failure?.code).to.equal('userinfo_failed')
    }
  })

  it('that is encrypted, of another subject, is refused', async () => {
    const setup = await alike({ userinfo_encrypted_response_alg: 'RSA-OAEP' }, {})
    setup.idp.faults.set('userinfo', jwt(await toClient('{"sub":"u-1002","name":"Bob"}')))
    const { who, failure } = await loginAt(setup)
    expect(who.status).to.equal(401)
    expect(failure?.code).to.equal('userinfo_failed')
  })

  it('with a broken, a foreign or no signature is refused', async () => {
    const claims = encode({ sub: 'u-1001', name: 'Mallory', aud: 'mesh' })
    const stranger = makeKey('RSA').private as JWK
    const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from(claims).toString('base64url')}.`
    for (const [alg, body] of [
      ['RS256', await new CompactSign(claims).setProtectedHeader({ alg: 'RS256' }).sign(stranger)],
      ['HS256', await new CompactSign(claims).setProtectedHeader({ alg: 'HS256' }).sign(encode('guessed-secret'))],
      ['RS256', await new CompactSign(claims).setProtectedHeader({ alg: 'HS256' }).sign(encode(CLIENT.client_secret))],
      ['HS256', await new CompactSign(claims).setProtectedHeader({ alg: 'HS512' }).sign(encode(CLIENT.client_secret))],
      ['RS256', unsigned],
      ['HS256', unsigned],
    ] as const) {
      for (const encrypted of [false, true]) {
        const setup = await alike({
          userinfo_signed_response_alg: alg,
          ...(encrypted ? { userinfo_encrypted_response_alg: 'RSA-OAEP' } : {}),
        })
        setup.idp.faults.set('userinfo', jwt(encrypted ? await toClient(body) : body))
        const { who, failure } = await loginAt(setup)
        expect(who.status, `${alg} ${encrypted}`).to.equal(401)
        expect(failure?.code, `${alg} ${encrypted}`).to.equal('userinfo_failed')
      }
    }
  })
})

describe('an ID token that is signed by the client secret', () => {
  const { start, closeAll } = keyedSetups()
  afterEach(closeAll)

  for (const alg of ['HS256', 'HS384', 'HS512']) {
    it(`is verified (${alg})`, async () => {
      const members = { id_token_signed_response_alg: alg }
      expect((await loginAt(await start({ client: members, registered: members }))).who.status).to.equal(200)
    })
  }

  it('is refused when it is signed by another secret, by a public key, or by another algorithm', async () => {
    const members = { id_token_signed_response_alg: 'HS256' }
    for (const [alg, secret] of [
      ['HS256', 'guessed-secret'],
      ['HS256', ''],
      ['HS384', CLIENT.client_secret],
      ['none', ''],
    ] as const) {
      const setup = await start({ client: members, registered: members })
      setup.idp.forgeTokens(async (genuine) => {
        const [, claims] = partsOf(genuine)
        if (alg === 'none') return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${genuine.split('.')[1]}.`
        const key = secret === '' ? encode(await (await fetch(`${setup.idp.issuer}/jwks`)).text()) : encode(secret)
        return new CompactSign(encode(claims)).setProtectedHeader({ alg }).sign(key)
      })
      const { who, failure } = await loginAt(setup)
      expect(who.status, alg).to.equal(401)
      expect(failure?.code, alg).to.equal('id_token_invalid')
    }
  })

  it('does not switch off the verification of a UserInfo answer that is signed by a key', async () => {
    const members = { id_token_signed_response_alg: 'HS256', userinfo_signed_response_alg: 'RS256' }
    const idp = { claimsIn: 'userinfo' } as const
    expect((await loginAt(await start({ client: members, registered: members, idp }))).who.status).to.equal(200)
    const setup = await start({ client: members, registered: members, idp })
    setup.idp.faults.set('userinfo', { kind: 'rewrite', body: (genuine) => `${String(genuine).slice(0, -4)}AAAA` })
    const person = setup.browser()
    await person.step(await answerFromIdp(person, setup.host.url, 'alice'))
    expect((await whoAmI(person, setup.host.url)).status).to.equal(401)
    expect(setup.authLog.at(-1)?.fields.code).to.equal('userinfo_failed')
  })
})
