import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { CompactSign } from 'jose'
import { makeKey } from '../../support/client-keys.ts'
import { type KeyedSetup, keyedSetups, partsOf } from '../../support/keyed-setup.ts'
import { CLIENT } from '../../support/sign-in-setup.ts'

type Claims = Readonly<Record<string, unknown>>

const now = () => Math.floor(Date.now() / 1000)
const halfHash = (text: string, bits = 256) => {
  const digest = createHash(`sha${bits}`).update(text).digest()
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

describe('an ID token that the browser brings', () => {
  const start = keyedSetups()
  const flow = (responseType: string) =>
    start({ client: { response_types: [responseType] }, registered: { response_types: [responseType] } })

  /** In the hybrid flow the first token of a login comes by the browser, the second from the token endpoint. */
  function changeTokens({ idp }: KeyedSetup, front: Claims, back: Claims = {}) {
    let seen = 0
    idp.forgeTokens((genuine) => {
      seen += 1
      return idp.sign({ ...partsOf(genuine)[1], ...(seen === 1 ? front : back) })
    })
  }

  async function expectRefusal({ signIn }: KeyedSetup, what: string) {
    const { page, who, failure } = await signIn()
    expect(page.url, what).to.match(/failure=login_failed$/)
    expect([who.status, failure?.code], what).to.deep.equal([401, 'id_token_invalid'])
    return failure?.reason
  }

  for (const responseType of ['id_token', 'code id_token']) {
    for (const [what, forgery] of Object.entries<() => Claims>({
      'of another issuer': () => ({ iss: 'https://evil.test' }),
      'for another client': () => ({ aud: 'other' }),
      'for several clients, without azp': () => ({ aud: ['mesh', 'other'] }),
      'issued to another client': () => ({ azp: 'other' }),
      'with the nonce of another login': () => ({ nonce: 'x' }),
      'without a nonce': () => ({ nonce: undefined }),
      'that has expired': () => ({ exp: now() - 120 }),
      'issued over 10 minutes ago': () => ({ iat: now() - 700 }),
      'issued in the future': () => ({ iat: now() + 120 }),
    })) {
      it(`is refused when it is one ${what} (${responseType})`, async () => {
        const setup = await flow(responseType)
        changeTokens(setup, forgery())
        await expectRefusal(setup, what)
      })
    }

    it(`is refused without a signature, with a stranger's, and with one by the client secret (${responseType})`, async () => {
      for (const [alg, key] of [
        ['RS256', makeKey('RSA').private as never],
        ['HS256', new TextEncoder().encode(CLIENT.client_secret)],
        ['none', null],
      ] as const) {
        const setup = await flow(responseType)
        setup.idp.forgeTokens((genuine) => {
          const [header, claims] = partsOf(genuine)
          if (key === null) {
            return `${Buffer.from('{"alg":"none"}').toString('base64url')}.${genuine.split('.')[1]}.`
          }
          const signed = new CompactSign(new TextEncoder().encode(JSON.stringify(claims)))
          return signed.setProtectedHeader({ ...header, alg }).sign(key)
        })
        await expectRefusal(setup, alg)
      }
    })

    it(`works at once with a key that was rotated in, and never with one that was withdrawn (${responseType})`, async () => {
      const { idp, host, clock, isIn, signIn } = await flow(responseType)
      const { person } = await signIn()
      await idp.rotateKeys({ withdraw: true })
      const genuine = person.get(`${host.url}auth-oidc`)
      await clock.pass(1_000)
      expect((await genuine).url).to.equal(host.url)
      idp.forgeTokens((genuine) => idp.sign(partsOf(genuine)[1], undefined, 'previous'))
      const forged = person.get(`${host.url}auth-oidc`)
      await clock.pass(1_000)
      expect((await forged).url).to.match(/failure=login_failed$/)
      expect(await isIn(person)).to.equal(false)
    })
  }

  for (const [what, front, back, reason] of [
    ['the hash of another code', { c_hash: halfHash('another') }, {}, /./],
    ['no hash of the code', { c_hash: undefined }, {}, /./],
    ['the hash of another state', { s_hash: halfHash('another') }, {}, /./],
    ['another person than the code does', { sub: 'u-1002' }, {}, /^the two ID tokens are of different persons$/],
    ['of a person, and the code of another one', {}, { sub: 'u-1002' }, /^the two ID tokens are of different persons$/],
  ] as const) {
    it(`is refused beside a code when it tells ${what}`, async () => {
      const setup = await flow('code id_token')
      changeTokens(setup, front, back)
      expect(await expectRefusal(setup, what)).to.match(reason)
    })
  }
})

describe('an access token', () => {
  const start = keyedSetups()

  for (const [alg, bits] of [
    ['RS256', 256],
    ['PS384', 384],
    ['ES256', 256],
    ['EdDSA', 512],
  ] as const) {
    it(`is refused when the ID token (${alg}) has the hash of another one`, async () => {
      const members = { id_token_signed_response_alg: alg }
      const { host, idp, signIn } = await start({ client: members, registered: members })
      idp.faults.set('token', {
        kind: 'rewrite',
        body: (genuine) => ({ ...(genuine as object), access_token: 'somebody-elses-token' }),
      })
      const tellHashOf = (token: string) =>
        idp.forgeTokens((genuine) => idp.sign({ ...partsOf(genuine)[1], at_hash: halfHash(token, bits) }, { alg }))
      tellHashOf('the-token-of-this-login')
      const { page, who, failure } = await signIn()
      expect(page.url).to.match(/failure=login_failed$/)
      expect(failure).to.include({
        code: 'access_token_invalid',
        reason: 'at_hash of the ID token is of another access token',
      })
      expect(who.status).to.equal(401)
      tellHashOf('somebody-elses-token')
      expect((await signIn()).page.url).to.equal(host.url)
    })
  }
})
