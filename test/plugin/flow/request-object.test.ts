import { expect } from 'chai'
import { compactDecrypt, type JWK } from 'jose'
import { makeKey } from '../../support/client-keys.ts'
import { type KeyedOptions, keyedSetups, partsOf } from '../../support/keyed-setup.ts'
import { answerFromIdp, whoAmI } from '../../support/sign-in-setup.ts'

describe('a request object', () => {
  const { start, closeAll } = keyedSetups()
  afterEach(closeAll)
  const keys = [makeKey('RSA', { kid: 'r' }), makeKey('P-256', { kid: 'e' }), makeKey('Ed25519', { kid: 'd' })]
  const STRICT = { require_signed_request_object: true }
  const asking = (members: Record<string, unknown>, more: KeyedOptions = {}) =>
    start({ keys, client: members, registered: { ...members, ...STRICT }, ...more })

  for (const alg of ['RS256', 'PS256', 'ES256', 'EdDSA', 'HS256', 'HS512']) {
    it(`is signed by ${alg}, and holds the whole request`, async () => {
      const { host, idp, browser } = await asking({ request_object_signing_alg: alg, default_max_age: 3600 })
      const person = browser()
      const url = new URL((await person.step(`${host.url}auth-oidc`)).headers.location!)
      const request = url.searchParams.get('request')!
      const [header, claims] = partsOf(request)
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
      // In the address, where anybody on the way could change it, there is nothing that counts.
      expect([...url.searchParams.keys()].sort()).to.deep.equal(['client_id', 'request', 'response_type', 'scope'])
      const answer = await answerFromIdp(person, host.url, 'alice')
      expect((await person.step(answer)).headers.location).to.equal('/')
      expect((await whoAmI(person, host.url)).status).to.equal(200)
    })
  }

  it('is refused by the IdP when somebody changed it on the way', async () => {
    const { host, browser, authLog } = await asking({ request_object_signing_alg: 'ES256' })
    const person = browser()
    const url = new URL((await person.step(`${host.url}auth-oidc`)).headers.location!)
    const [header, claims, signature] = url.searchParams.get('request')!.split('.')
    const changed = { ...partsOf(`${header}.${claims}.`)[1], prompt: 'none' }
    url.searchParams.set(
      'request',
      `${header}.${Buffer.from(JSON.stringify(changed)).toString('base64url')}.${signature}`,
    )
    expect((await person.get(url.href)).url).to.match(/failure=provider_refused$/)
    expect(authLog.at(-1)?.fields).to.include({ code: 'provider_error', error: 'invalid_request_object' })
  })

  it('works where the ID token comes by form_post, and is pushed where the IdP wants that', async () => {
    for (const more of [{ idp: { requirePushedRequests: true } }, {}]) {
      const members = { request_object_signing_alg: 'ES256', response_types: ['code id_token'] }
      const { host, idp, browser, sent } = await asking(members, more)
      const person = browser()
      expect((await person.login(host.url, 'alice', 'alice-demo')).url).to.equal(host.url)
      expect(idp.requests('pushed_authorization_request')).to.equal('idp' in more ? 1 : 0)
      if (!('idp' in more)) continue
      const { form } = sent.find(({ url }) => url.endsWith('/request'))!
      expect(form.has('request')).to.equal(true)
      expect(form.has('state')).to.equal(false)
    }
  })

  for (const [alg, enc] of [
    ['RSA-OAEP-256', 'A256GCM'],
    ['ECDH-ES+A128KW', undefined],
    ['A256KW', 'A128GCM'],
    ['dir', 'A256CBC-HS512'],
  ] as const) {
    it(`is signed, then encrypted to the IdP by ${alg}`, async () => {
      const { host, browser } = await asking({
        request_object_signing_alg: 'PS256',
        request_object_encryption_alg: alg,
        ...(enc ? { request_object_encryption_enc: enc } : {}),
      })
      const person = browser()
      const url = new URL((await person.step(`${host.url}auth-oidc`)).headers.location!)
      const request = url.searchParams.get('request')!
      expect(request.split('.')).to.have.length(5)
      expect(partsOf(request.replace(/\..*/, '.e30'))[0]).to.include({ alg, enc: enc ?? 'A128CBC-HS256', cty: 'JWT' })
      expect((await person.login(host.url, 'alice', 'alice-demo')).url).to.equal(host.url)
    })
  }

  it('is encrypted to the key that the IdP has now, and to one for encryption', async () => {
    const members = { request_object_signing_alg: 'ES256', request_object_encryption_alg: 'RSA-OAEP' }
    const { host, idp, browser } = await asking(members)
    const person = browser()
    await person.step(`${host.url}auth-oidc`)
    await idp.rotateKeys({ withdraw: true })
    expect((await person.login(host.url, 'alice', 'alice-demo')).url).to.equal(host.url)
    const [signing, encrypting] = [makeKey('RSA', { kid: 's', use: 'sig' }), makeKey('RSA', { kid: 'e', use: 'enc' })]
    const set = { keys: [signing.public, encrypting.public] }
    idp.faults.set('jwks', { kind: 'answer', status: 200, body: JSON.stringify(set) })
    const url = new URL((await person.step(`${host.url}auth-oidc`)).headers.location!)
    const opened = await compactDecrypt(url.searchParams.get('request')!, encrypting.private as JWK)
    expect(opened.protectedHeader.kid).to.equal('e')
    expect(partsOf(new TextDecoder().decode(opened.plaintext))[1]).to.include({ client_id: 'mesh' })
  })

  it('is not sent at all, and the login refused, when the IdP publishes nothing to encrypt to', async () => {
    const members = { request_object_signing_alg: 'ES256', request_object_encryption_alg: 'RSA-OAEP' }
    for (const [fault, code] of [
      [{ kind: 'answer', status: 200, body: '{"keys":[]}' }, 'metadata_incomplete'],
      [{ kind: 'answer', status: 200, body: '{"keys":7}' }, 'metadata_incomplete'],
      [{ kind: 'answer', status: 500 }, 'metadata_incomplete'],
      [{ kind: 'reset' }, 'provider_unreachable'],
    ] as const) {
      const { host, idp, browser, authLog } = await asking(members)
      idp.faults.set('jwks', fault)
      const { headers } = await browser().step(`${host.url}auth-oidc`)
      expect(headers.location, code).to.match(/^\/login\?failure=/)
      expect(authLog.at(-1)?.fields.code).to.equal(code)
    }
  })

  it('is not made of an unsigned one: the domain is refused', async () => {
    const { host, browser, authLog } = await start({ keys, client: { request_object_signing_alg: 'none' } })
    expect((await browser().get(`${host.url}auth-oidc`)).url).to.match(/failure=not_configured$/)
    expect(authLog[0]?.fields.path).to.match(/client\.request_object_signing_alg$/)
  })
})

describe('the time of the login at the IdP', () => {
  const { start, closeAll } = keyedSetups()
  afterEach(closeAll)

  it('is asked for where it is required, and a token without it is refused', async () => {
    for (const responseType of ['code', 'id_token', 'code id_token']) {
      const members = { require_auth_time: true, response_types: [responseType] }
      // The IdP does not know of the demand: it has to be asked.
      const { host, idp, browser, authLog } = await start({
        client: members,
        registered: { response_types: [responseType] },
      })
      const person = browser()
      const asked = new URL((await person.step(`${host.url}auth-oidc`)).headers.location!).searchParams.get('claims')
      expect(JSON.parse(asked!)).to.deep.equal({ id_token: { auth_time: { essential: true } } })
      expect((await person.login(host.url, 'alice', 'alice-demo')).url, responseType).to.equal(host.url)
      idp.forgeTokens((genuine) => idp.sign({ ...partsOf(genuine)[1], auth_time: undefined }))
      expect((await person.get(`${host.url}auth-oidc`)).url, responseType).to.match(/failure=login_failed$/)
      expect(authLog.at(-1)?.fields.code).to.equal('id_token_invalid')
    }
  })

  it('must not be longer ago than default_max_age', async () => {
    for (const responseType of ['code', 'id_token', 'code id_token']) {
      const members = { default_max_age: 600, response_types: [responseType] }
      const { host, idp, browser, authLog } = await start({
        client: members,
        registered: { response_types: [responseType] },
      })
      const person = browser()
      const asked = new URL((await person.step(`${host.url}auth-oidc`)).headers.location!).searchParams
      expect(asked.get('max_age')).to.equal('600')
      expect((await person.login(host.url, 'alice', 'alice-demo')).url, responseType).to.equal(host.url)
      for (const auth_time of [Math.floor(Date.now() / 1000) - 700, undefined, 'now']) {
        idp.forgeTokens((genuine) => idp.sign({ ...partsOf(genuine)[1], auth_time }))
        expect((await person.get(`${host.url}auth-oidc`)).url, responseType).to.match(/failure=login_failed$/)
        expect(authLog.at(-1)?.fields.code).to.equal('id_token_invalid')
      }
      idp.forgeTokens()
      expect((await person.get(`${host.url}auth-oidc`)).url, responseType).to.equal(host.url)
    }
  })

  it('of a person who signed in long ago makes the IdP ask for the password again', async () => {
    const { host, browser } = await start({ client: { default_max_age: 0 } })
    const person = browser()
    await person.login(host.url, 'alice', 'alice-demo')
    expect((await person.get(`${host.url}auth-oidc`)).forms[0]?.fields.map(([name]) => name)).to.include('password')
  })
})
