import { expect } from 'chai'
import { makeKey } from '../../support/client-keys.ts'
import type { CaseName } from '../support/cases.ts'
import type { LabOptions } from '../support/lab.ts'
import { ALICE } from '../support/people.ts'
import { expectRefused, signsIn, told } from './expectations.ts'
import type { Bench, Run, Runs } from './run.ts'

/** A login ends where the provider says that it does, and there is a line that names the mend unless the host cannot know. */
const ends =
  (name: CaseName, options: LabOptions, codes: readonly string[], words: readonly RegExp[]): Run =>
  async ({ idp, lab: start }: Bench) => {
    const lab = await start(options)
    const visit = await lab.signIn(ALICE)
    if (!idp.ownPage.has(name)) return expectRefused(lab, visit, codes, words)
    expect(new URL(visit.page.url).origin, told(lab, visit.page)).to.equal(new URL(idp.issuer).origin)
    expect(visit.who.status).to.equal(401)
    expect(visit.failure).to.equal(undefined)
  }
const REFUSED = ['provider_error', 'token_request_failed']
const [KNOWN, OWN] = ['known', 'own'].map((kid) => makeKey('RSA', { kid, use: 'sig', alg: 'RS256' })) as [Key, Key]
type Key = ReturnType<typeof makeKey>

export const WRONG_SETTINGS = {
  wrong_secret: ends(
    'wrong_secret',
    { client: { client_secret: 'not-the-secret-of-this-client-at-all-00' } },
    ['token_request_failed'],
    [/client\.client_secret/, /"status":40[013]/],
  ),
  wrong_client_id: ends('wrong_client_id', { client: { client_id: 'nobody-by-this-name' } }, REFUSED, [/client_id/]),
  wrong_redirect_uri: ends(
    'wrong_redirect_uri',
    { registered: { redirect_uris: ['https://elsewhere.example.org/auth-oidc-callback'] } },
    REFUSED,
    [/redirect_uri/],
  ),
  wrong_key: ends(
    'wrong_key',
    {
      keys: [OWN],
      registered: { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [KNOWN.public] } },
      client: { token_endpoint_auth_method: 'private_key_jwt' },
    },
    ['token_request_failed'],
    [/\bkeys?\b|jwksFile/],
  ),

  wrong_issuer_slash: async ({ idp, lab: start }) => {
    const { issuer } = idp
    const lab = await start({ oidc: { issuer: issuer.endsWith('/') ? issuer.slice(0, -1) : `${issuer}/` } })
    await signsIn(lab, ALICE)
  },

  wrong_scope: async (bench) => {
    const lab = await bench.lab({ custom: { scope: ['profile', 'email', 'scope-unheard-of'] } })
    const visit = await lab.signIn(ALICE)
    // Some leave it out.
    if (visit.who.status === 200) return
    expectRefused(lab, visit, 'scope_refused', [/invalid_scope/, /scope-unheard-of/, /custom\.scope/])
  },

  wrong_signing_alg: async (bench) => {
    const alg = bench.idp.cannot.signed_es256 === undefined ? 'ES256' : 'RS512'
    const lab = await bench.lab({
      registered: { id_token_signed_response_alg: alg },
      client: { id_token_signed_response_alg: 'RS256' },
    })
    const visit = await lab.signIn(ALICE)
    expectRefused(lab, visit, 'id_token_invalid', [/client\.id_token_signed_response_alg/, new RegExp(alg), /RS256/])
  },

  wrong_auth_method: async (bench) => {
    const asymmetric = bench.idp.cannot.private_key_jwt === undefined
    const lab = await bench.lab({
      registered: asymmetric
        ? {
            token_endpoint_auth_method: 'private_key_jwt',
            jwks: { keys: [KNOWN.public] },
          }
        : { token_endpoint_auth_method: 'client_secret_post' },
      client: {
        token_endpoint_auth_method: 'client_secret_basic',
        ...(asymmetric ? { client_secret: 'a-secret-that-it-has-no-use-for-1' } : {}),
      },
    })
    const visit = await lab.signIn(ALICE)
    // Some take either.
    if (!asymmetric && visit.who.status === 200) return
    expectRefused(lab, visit, 'token_request_failed', [/client\.token_endpoint_auth_method/])
  },

  cancelled: async ({ idp, lab: start }) => {
    const lab = await start()
    const browser = lab.browser()
    const first = await browser.get(`${lab.host.url}auth-oidc`)
    if (!idp.cancel) throw new Error('a provider that knows no way back has to say so in `cannot`')
    const page = await idp.cancel(browser, first)
    expect(page.url, told(lab, page)).to.match(/\/login\?failure=\w+$/)
    expect(page.text).to.not.match(/ask your administrator/i)
    expect(lab.authLog.at(-1)?.fields).to.include({ code: 'provider_error', error: 'access_denied' })
    expect((await lab.whoIs(browser)).status).to.equal(401)
  },
} satisfies Runs
