import { expect } from 'chai'
import { CompactSign } from 'jose'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { type ClientKeyPair, makeKey } from '../../support/client-keys.ts'
import { keyedSetups, partsOf } from '../../support/keyed-setup.ts'
import { answerFromIdp, CLIENT } from '../../support/sign-in-setup.ts'

const nowS = () => Math.floor(Date.now() / 1000)

describe('login with a response mode', () => {
  const start = keyedSetups()

  const flow = (members: Record<string, unknown>, keys: readonly ClientKeyPair[] = []) => {
    const { response_mode: _asked, ...registered } = members
    return start({ client: members, registered, keys })
  }

  /** Returns the parameters of the answer, wherever the IdP put them. */
  async function answerIn(person: ScriptedBrowser, hostUrl: string): Promise<URLSearchParams> {
    const url = new URL(await answerFromIdp(person, hostUrl, 'alice'))
    return new URLSearchParams(url.hash === '' ? url.search : url.hash.slice(1))
  }

  for (const [mode, types] of [
    ['query', ['code']],
    ['form_post', ['code', 'id_token', 'code id_token']],
    ['jwt', ['code']],
    ['query.jwt', ['code']],
    ['form_post.jwt', ['code', 'id_token', 'code id_token']],
  ] as const) {
    for (const type of types) {
      // Shows: plugin 4.24.
      it(`a login works with response_mode ${mode} (${type})`, async () => {
        const { redirectFrom, signIn, authLog } = await flow({ response_types: [type], response_mode: mode })
        expect((await redirectFrom()).searchParams.get('response_mode')).to.equal(mode)
        const { me } = await signIn()
        expect(me, JSON.stringify(authLog)).to.include({ status: 200, id: '~oidc:u-1001' })
      })
    }
  }

  for (const [mode, type] of [
    ['fragment.jwt', 'code'],
    ['fragment.jwt', 'code id_token'],
    ['jwt', 'id_token'],
  ] as const) {
    it(`accepts a signed IdP answer in the URL fragment: ${mode} (${type})`, async () => {
      const { host, browser } = await flow({ response_types: [type], response_mode: mode })
      const person = browser()
      const answer = await answerIn(person, host.url)
      expect([...answer.keys()]).to.deep.equal(['response'])
      expect((await person.step(`${host.url}auth-oidc-callback`)).status).to.equal(200)
      const { headers } = await person.step(`${host.url}auth-oidc-callback`, { form: [...answer] })
      expect(headers.location).to.equal('/')
    })
  }

  // Shows: plugin 4.25.
  it('accepts an encrypted IdP answer that is signed with ES256', async () => {
    const key = makeKey('RSA', { kid: 'e', use: 'enc', alg: 'RSA-OAEP-256' })
    const members = {
      response_mode: 'query.jwt',
      authorization_signed_response_alg: 'ES256',
      authorization_encrypted_response_alg: 'RSA-OAEP-256',
      authorization_encrypted_response_enc: 'A256GCM',
    }
    const { host, signIn, authLog } = await flow(members, [key])
    expect((await signIn()).page.url, JSON.stringify(authLog)).to.equal(host.url)
  })

  it("logs the IdP's error from a signed answer", async () => {
    const { host, idp, browser, redirectFrom, authLog } = await flow({ response_mode: 'query.jwt' })
    const person = browser()
    const state = (await redirectFrom('auth-oidc', person)).searchParams.get('state')
    const claims = { iss: idp.issuer, aud: 'mesh', exp: nowS() + 60, state, error: 'access_denied' }
    const response = await idp.sign(claims)
    await person.step(`${host.url}auth-oidc-callback?response=${response}`)
    expect(authLog.at(-1)?.fields).to.include({ code: 'provider_error', error: 'access_denied' })
  })

  /** Returns a forged answer. `resign` signs other claims with the IdP's key. */
  type Forge = (genuine: string, resign: (changes: object) => Promise<string>) => string | Promise<string>
  for (const [description, forge, reason] of [
    ['an answer of another issuer', (_, resign) => resign({ iss: 'https://evil.test' }), /iss/],
    ['an answer for another client', (_, resign) => resign({ aud: 'other' }), /aud/],
    ['an answer that has expired', (_, resign) => resign({ exp: nowS() - 60 }), /expired/],
    ['an answer without exp', (_, resign) => resign({ exp: undefined }), /exp is missing/],
    [
      'an answer changed after signing',
      (genuine) => {
        const [header, , signature] = genuine.split('.')
        const claims = { ...partsOf(genuine)[1], code: 'another' }
        return `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${signature}`
      },
      /signature/,
    ],
    [
      'an answer signed by the client secret',
      (genuine) => {
        const signed = new CompactSign(Buffer.from(JSON.stringify(partsOf(genuine)[1])))
        return signed.setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(CLIENT.client_secret))
      },
      /HS256/,
    ],
    [
      'an answer without a signature',
      (genuine) => `${Buffer.from('{"alg":"none"}').toString('base64url')}.${genuine.split('.')[1]}.`,
      /none/,
    ],
    ['plain parameters instead of a JWT', () => '', /exactly one parameter `response`/],
  ] as readonly (readonly [string, Forge, RegExp])[]) {
    // Shows: plugin 4.24.
    it(`refuses an IdP answer in a JWT: ${description}`, async () => {
      const { host, idp, browser, isIn, authLog } = await flow({ response_mode: 'query.jwt' })
      const person = browser()
      const response = String((await answerIn(person, host.url)).get('response'))
      const claims = partsOf(response)[1] as Record<string, string>
      const forged = await forge(response, (changes) => idp.sign({ ...claims, ...changes }))
      const { code = '', state = '', iss = '' } = claims
      const query = new URLSearchParams(forged === '' ? { code, state, iss } : { response: forged })
      const { headers } = await person.step(`${host.url}auth-oidc-callback?${query}`)
      expect(headers.location).to.match(/^\/login\?failure=/)
      expect(await isIn(person)).to.equal(false)
      expect(String(authLog.at(-1)?.fields.reason)).to.match(reason)
      expect(idp.requests('token')).to.equal(0)
    })
  }

  it('refuses two JWTs in one answer, and unencrypted JWTs if encryption is configured', async () => {
    const twice = await flow({ response_mode: 'query.jwt' })
    const person = twice.browser()
    const genuine = await answerIn(person, twice.host.url)
    genuine.append('response', genuine.get('response')!)
    const { headers } = await person.step(`${twice.host.url}auth-oidc-callback?${genuine}`)
    expect(headers.location).to.match(/^\/login\?failure=/)
    expect(twice.authLog.at(-1)?.fields.code).to.equal('answer_invalid')

    const encrypted = { response_mode: 'query.jwt', authorization_encrypted_response_alg: 'RSA-OAEP-256' }
    const key = makeKey('RSA', { kid: 'e', use: 'enc' })
    const { host, browser, isIn, authLog } = await start({ client: encrypted, keys: [key] })
    const otherBrowser = browser()
    await otherBrowser.step(`${host.url}auth-oidc-callback?${await answerIn(otherBrowser, host.url)}`)
    expect(authLog.at(-1)?.fields).to.include({ code: 'answer_invalid', reason: 'it is not encrypted' })
    expect(await isIn(otherBrowser)).to.equal(false)
  })
})
