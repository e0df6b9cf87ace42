import { expect } from 'chai'
import { CompactSign } from 'jose'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { type ClientKeyPair, makeKey } from '../../support/client-keys.ts'
import { keyedSetups, partsOf } from '../../support/keyed-setup.ts'
import { answerFromIdp, whoAmI } from '../../support/sign-in-setup.ts'

const nowS = () => Math.floor(Date.now() / 1000)

describe('response_mode', () => {
  const { start, closeAll } = keyedSetups()
  afterEach(closeAll)

  const flow = (members: Record<string, unknown>, keys: readonly ClientKeyPair[] = []) => {
    const { response_mode: _asked, ...registered } = members
    return start({ client: members, registered, keys })
  }

  /** The parameters that a browser brings, wherever the IdP put them. */
  async function answerIn(person: ScriptedBrowser, hostUrl: string): Promise<URLSearchParams> {
    const url = new URL(await answerFromIdp(person, hostUrl, 'alice'))
    return new URLSearchParams(url.hash === '' ? url.search : url.hash.slice(1))
  }

  it('is not sent with a code where none is configured', async () => {
    const { host, browser } = await start()
    const asked = new URL((await browser().step(`${host.url}auth-oidc`)).headers.location!)
    expect(asked.searchParams.has('response_mode')).to.equal(false)
  })

  for (const [mode, types] of [
    ['query', ['code']],
    ['form_post', ['code', 'id_token', 'code id_token']],
    ['jwt', ['code']],
    ['query.jwt', ['code']],
    ['form_post.jwt', ['code', 'id_token', 'code id_token']],
  ] as const) {
    for (const type of types) {
      it(`${mode} is asked for and understood (${type})`, async () => {
        const { host, browser, authLog } = await flow({ response_types: [type], response_mode: mode })
        const asked = new URL((await browser().step(`${host.url}auth-oidc`)).headers.location!)
        expect(asked.searchParams.get('response_mode')).to.equal(mode)
        const person = browser()
        const page = await person.login(host.url, 'alice', 'alice-demo')
        expect(page.url, JSON.stringify(authLog)).to.equal(host.url)
        expect(await whoAmI(person, host.url)).to.include({ status: 200, id: '~oidc:u-1001' })
      })
    }
  }

  for (const [mode, type] of [
    ['fragment.jwt', 'code'],
    ['fragment.jwt', 'code id_token'],
    ['jwt', 'id_token'],
  ] as const) {
    it(`${mode} brings a signed answer in the fragment (${type})`, async () => {
      const { host, browser } = await flow({ response_types: [type], response_mode: mode })
      const person = browser()
      const answer = await answerIn(person, host.url)
      expect([...answer.keys()]).to.deep.equal(['response'])
      expect((await person.step(`${host.url}auth-oidc-callback`)).status).to.equal(200)
      const { headers } = await person.step(`${host.url}auth-oidc-callback`, { form: [...answer] })
      expect(headers.location).to.equal('/')
    })
  }

  it('with jwt works with another algorithm, and encrypted', async () => {
    const key = makeKey('RSA', { kid: 'e', use: 'enc', alg: 'RSA-OAEP-256' })
    const members = {
      response_mode: 'query.jwt',
      authorization_signed_response_alg: 'ES256',
      authorization_encrypted_response_alg: 'RSA-OAEP-256',
      authorization_encrypted_response_enc: 'A256GCM',
    }
    const { host, browser, authLog } = await flow(members, [key])
    const person = browser()
    const page = await person.login(host.url, 'alice', 'alice-demo')
    expect(page.url, JSON.stringify(authLog)).to.equal(host.url)
  })

  it('with jwt takes the words of the IdP out of the signed answer', async () => {
    const { host, idp, browser, authLog } = await flow({ response_mode: 'query.jwt' })
    const person = browser()
    const asked = new URL((await person.step(`${host.url}auth-oidc`)).headers.location!)
    const response = await idp.sign({
      iss: idp.issuer,
      aud: 'mesh',
      exp: nowS() + 60,
      state: asked.searchParams.get('state'),
      error: 'access_denied',
    })
    await person.step(`${host.url}auth-oidc-callback?response=${response}`)
    expect(authLog.at(-1)?.fields).to.include({ code: 'provider_error', error: 'access_denied' })
  })

  type Forge = (genuine: URLSearchParams, resign: (changes: object) => Promise<string>) => Promise<URLSearchParams>
  const FORGERIES: Readonly<Record<string, readonly [Forge, RegExp]>> = {
    'the parameters without a signature': [
      async (genuine) => {
        const claims = partsOf(genuine.get('response')!)[1] as Record<string, string>
        return new URLSearchParams({ code: claims.code!, state: claims.state!, iss: claims.iss! })
      },
      /not signed/,
    ],
    'an answer of another issuer': [
      async (_, resign) => new URLSearchParams({ response: await resign({ iss: 'https://evil.test' }) }),
      /iss/,
    ],
    'an answer for another client': [
      async (_, resign) => new URLSearchParams({ response: await resign({ aud: 'other' }) }),
      /aud/,
    ],
    'an answer that has expired': [
      async (_, resign) => new URLSearchParams({ response: await resign({ exp: nowS() - 60 }) }),
      /expired/,
    ],
    'an answer without an end': [
      async (_, resign) => new URLSearchParams({ response: await resign({ exp: undefined }) }),
      /exp is missing/,
    ],
    'an answer that was changed': [
      async (genuine) => {
        const [header, , signature] = genuine.get('response')!.split('.')
        const claims = { ...partsOf(genuine.get('response')!)[1], code: 'another' }
        const changed = Buffer.from(JSON.stringify(claims)).toString('base64url')
        return new URLSearchParams({ response: `${header}.${changed}.${signature}` })
      },
      /signature/,
    ],
    'an answer signed by the client secret': [
      async (genuine) => {
        const signed = new CompactSign(Buffer.from(JSON.stringify(partsOf(genuine.get('response')!)[1])))
        const secret = new TextEncoder().encode('a-client-secret-of-the-tests')
        return new URLSearchParams({ response: await signed.setProtectedHeader({ alg: 'HS256' }).sign(secret) })
      },
      /HS256/,
    ],
    'an answer without a signature': [
      async (genuine) => {
        const [, claims] = genuine.get('response')!.split('.')
        const header = Buffer.from('{"alg":"none"}').toString('base64url')
        return new URLSearchParams({ response: `${header}.${claims}.` })
      },
      /none/,
    ],
  }
  for (const [what, [forge, reason]] of Object.entries(FORGERIES)) {
    it(`with jwt refuses ${what}`, async () => {
      const { host, idp, browser, authLog } = await flow({ response_mode: 'query.jwt' })
      const person = browser()
      const genuine = await answerIn(person, host.url)
      const claims = partsOf(genuine.get('response')!)[1]
      const forged = await forge(genuine, (changes) => idp.sign({ ...claims, ...changes }))
      const { headers } = await person.step(`${host.url}auth-oidc-callback?${forged}`)
      expect(headers.location).to.match(/^\/login\?failure=/)
      expect((await whoAmI(person, host.url)).status).to.equal(401)
      expect(String(authLog.at(-1)?.fields.reason)).to.match(reason)
      expect(idp.requests('token')).to.equal(0)
    })
  }

  it('with jwt refuses two answers, and one that nobody encrypted where that was asked for', async () => {
    const twice = await flow({ response_mode: 'query.jwt' })
    const person = twice.browser()
    const genuine = await answerIn(person, twice.host.url)
    genuine.append('response', genuine.get('response')!)
    const { headers } = await person.step(`${twice.host.url}auth-oidc-callback?${genuine}`)
    expect(headers.location).to.match(/^\/login\?failure=/)
    expect(twice.authLog.at(-1)?.fields.code).to.equal('answer_invalid')

    const encrypted = { response_mode: 'query.jwt', authorization_encrypted_response_alg: 'RSA-OAEP-256' }
    const key = makeKey('RSA', { kid: 'e', use: 'enc' })
    const { host, browser, authLog } = await start({ client: encrypted, keys: [key] })
    const other = browser()
    await other.step(`${host.url}auth-oidc-callback?${await answerIn(other, host.url)}`)
    expect(authLog.at(-1)?.fields).to.include({ code: 'answer_invalid', reason: 'it is not encrypted' })
    expect((await whoAmI(other, host.url)).status).to.equal(401)
  })
})
