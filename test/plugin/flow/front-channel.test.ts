import { createHash } from 'node:crypto'
import { expect } from 'chai'
import { CompactSign } from 'jose'
import type { Idp } from '../../../fixtures/idp/server.ts'
import { makeKey } from '../../support/client-keys.ts'
import { type KeyedSetup, keyedSetups, partsOf } from '../../support/keyed-setup.ts'
import { CLIENT, whoAmI } from '../../support/sign-in-setup.ts'

type Claims = Readonly<Record<string, unknown>>
/** What becomes of a token's claims; `front` is true for the one that the browser brings. */
type Change = (claims: Claims, front: boolean, idp: Idp) => Claims

const now = () => Math.floor(Date.now() / 1000)
const halfHash = (text: string, bits = 256) => {
  const digest = createHash(`sha${bits}`).update(text).digest()
  return digest.subarray(0, digest.length / 2).toString('base64url')
}

describe('an ID token that the browser brings', () => {
  const { start, closeAll } = keyedSetups()
  afterEach(closeAll)

  const flow = (responseType: string) =>
    start({ client: { response_types: [responseType] }, registered: { response_types: [responseType] } })

  /** In the hybrid flow the first token of a login comes by the browser, the second from the token endpoint. */
  function changeTokens({ idp }: KeyedSetup, change: Change) {
    let seen = 0
    idp.forgeTokens((genuine) => {
      seen += 1
      return idp.sign(change(partsOf(genuine)[1], seen === 1, idp))
    })
  }

  async function expectRefusal(setup: KeyedSetup, what: string) {
    const person = setup.browser()
    const page = await person.login(setup.host.url, 'alice', 'alice-demo')
    expect(page.url, what).to.match(/failure=login_failed$/)
    expect((await whoAmI(person, setup.host.url)).status, what).to.equal(401)
    expect(setup.authLog.at(-1)?.fields.code, what).to.equal('id_token_invalid')
    return setup.authLog.at(-1)?.fields.reason
  }

  const FORGERIES: Readonly<Record<string, () => Claims>> = {
    'of another issuer': () => ({ iss: 'https://evil.test' }),
    'for another client': () => ({ aud: 'other' }),
    'for several clients, without azp': () => ({ aud: ['mesh', 'other'] }),
    'issued to another client': () => ({ azp: 'other' }),
    'with the nonce of another login': () => ({ nonce: 'x' }),
    'without a nonce': () => ({ nonce: undefined }),
    'that has expired': () => ({ exp: now() - 120 }),
    'issued over 10 minutes ago': () => ({ iat: now() - 700 }),
    'issued in the future': () => ({ iat: now() + 120 }),
  }
  for (const responseType of ['id_token', 'code id_token']) {
    for (const [what, forgery] of Object.entries(FORGERIES)) {
      it(`is refused when it is one ${what} (${responseType})`, async () => {
        const setup = await flow(responseType)
        changeTokens(setup, (claims, front) => ({ ...claims, ...(front ? forgery() : {}) }))
        await expectRefusal(setup, what)
      })
    }

    it(`is refused without a signature, with a stranger's, and with one by the client secret (${responseType})`, async () => {
      const stranger = makeKey('RSA').private as never
      for (const [alg, key] of [
        ['RS256', stranger],
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
      const setup = await flow(responseType)
      const { idp, host, clock } = setup
      const person = setup.browser()
      await person.login(host.url, 'alice', 'alice-demo')
      await idp.rotateKeys({ withdraw: true })
      const genuine = person.get(`${host.url}auth-oidc`)
      await clock.pass(1_000)
      expect((await genuine).url).to.equal(host.url)
      idp.forgeTokens((genuine) => idp.sign(partsOf(genuine)[1], undefined, 'previous'))
      const forged = person.get(`${host.url}auth-oidc`)
      await clock.pass(1_000)
      expect((await forged).url).to.match(/failure=login_failed$/)
      expect((await whoAmI(person, host.url)).status).to.equal(401)
    })
  }

  for (const [what, change] of Object.entries<Change>({
    'the hash of another code': (claims, front) => ({ ...claims, ...(front ? { c_hash: halfHash('another') } : {}) }),
    'no hash of the code': (claims, front) => ({ ...claims, ...(front ? { c_hash: undefined } : {}) }),
    'the hash of another state': (claims, front) => ({ ...claims, ...(front ? { s_hash: halfHash('another') } : {}) }),
    'another person than the code does': (claims, front) => ({ ...claims, ...(front ? { sub: 'u-1002' } : {}) }),
  })) {
    it(`is refused beside a code when it tells ${what}`, async () => {
      const setup = await flow('code id_token')
      changeTokens(setup, change)
      await expectRefusal(setup, what)
    })
  }

  it('is refused when the code beside it was redeemed for another person', async () => {
    const setup = await flow('code id_token')
    changeTokens(setup, (claims, front) => ({ ...claims, ...(front ? {} : { sub: 'u-1002' }) }))
    expect(await expectRefusal(setup, 'sub')).to.equal('the two ID tokens are of different persons')
  })

  it('is refused when it is there twice', async () => {
    for (const responseType of ['id_token', 'code id_token']) {
      const setup = await flow(responseType)
      const { host } = setup
      const person = setup.browser()
      const page = await person.get(`${host.url}auth-oidc`)
      const [form] = page.forms
      const fields = form!.fields.map(([name, value]): readonly [string, string] => [
        name,
        name === 'username' ? 'alice' : name === 'password' ? 'alice-demo' : value,
      ])
      let answer = await person.step(form!.action, { form: fields })
      while (answer.headers.location) answer = await person.step(new URL(answer.headers.location, answer.url).href)
      const posted = [...answer.body.matchAll(/name="([^"]+)" value="([^"]*)"/g)].map(
        ([, name, value]) => [name!, value!] as const,
      )
      expect(posted.map(([name]) => name)).to.include('id_token')
      const token = posted.find(([name]) => name === 'id_token')!
      const { headers } = await person.step(`${host.url}auth-oidc-callback`, { form: [...posted, token] })
      expect(headers.location, responseType).to.match(/failure=login_failed$/)
      expect(setup.authLog.at(-1)?.fields.code).to.equal('id_token_invalid')
    }
  })
})

describe('an access token', () => {
  const { start, closeAll } = keyedSetups()
  afterEach(closeAll)

  for (const [alg, bits] of [
    ['RS256', 256],
    ['PS384', 384],
    ['ES256', 256],
    ['EdDSA', 512],
  ] as const) {
    it(`is refused when the ID token (${alg}) has the hash of another one`, async () => {
      const members = { id_token_signed_response_alg: alg }
      const { host, idp, browser, authLog } = await start({ client: members, registered: members })
      let issued = ''
      idp.faults.set('token', {
        kind: 'rewrite',
        body: (genuine) => {
          const tokens = genuine as { access_token: string }
          return issued === '' ? tokens : { ...tokens, access_token: issued }
        },
      })
      const person = browser()
      expect((await person.login(host.url, 'alice', 'alice-demo')).url).to.equal(host.url)
      issued = 'somebody-elses-token'
      // The genuine hash of the genuine token.
      idp.forgeTokens((genuine) =>
        idp.sign({ ...partsOf(genuine)[1], at_hash: halfHash('the-token-of-this-login', bits) }, { alg }),
      )
      expect((await person.get(`${host.url}auth-oidc`)).url).to.match(/failure=login_failed$/)
      expect(authLog.at(-1)?.fields).to.include({
        code: 'access_token_invalid',
        reason: 'at_hash of the ID token is of another access token',
      })
      expect((await whoAmI(person, host.url)).status).to.equal(401)
      idp.forgeTokens((genuine) => idp.sign({ ...partsOf(genuine)[1], at_hash: halfHash(issued, bits) }, { alg }))
      expect((await person.get(`${host.url}auth-oidc`)).url).to.equal(host.url)
    })
  }
})
