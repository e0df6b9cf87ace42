import { expect } from 'chai'
import { makeKey } from '../../support/client-keys.ts'
import { ALICE, BOB } from '../support/people.ts'
import { expectNamed, expectRefused, expectSignedIn, told } from './expectations.ts'
import type { Bench, Runs } from './run.ts'

/** A wrong address of the issuer: refused before anybody leaves, and the line says what came of which address. */
async function findsNothing(bench: Bench, issuer: string, words: readonly RegExp[]): Promise<void> {
  const lab = await bench.lab({ oidc: { issuer } })
  const visit = await lab.signIn(ALICE)
  expectRefused(lab, visit, 'discovery_failed', [/`issuer`/, ...words])
}

export const WRONG_SETTINGS = {
  wrong_secret: async (bench) => {
    const lab = await bench.lab({ client: { client_secret: 'not-the-secret-of-this-client-at-all-00' } })
    const visit = await lab.signIn(ALICE)
    expectRefused(lab, visit, 'token_request_failed', [/client\.client_secret/, /"status":40[013]/])
  },

  wrong_client_id: async (bench) => {
    const lab = await bench.lab({ client: { client_id: 'nobody-by-this-name' } })
    const visit = await lab.signIn(ALICE)
    expectNamed(bench, 'wrong_client_id', lab, visit, ['provider_error', 'token_request_failed'], [/client_id/])
  },

  wrong_redirect_uri: async (bench) => {
    const lab = await bench.lab({ registered: { redirect_uris: ['https://elsewhere.example.org/auth-oidc-callback'] } })
    const visit = await lab.signIn(ALICE)
    expectNamed(bench, 'wrong_redirect_uri', lab, visit, ['provider_error', 'token_request_failed'], [/redirect_uri/])
  },

  wrong_post_logout: async ({ idp, lab: start }) => {
    const lab = await start({ registered: { post_logout_redirect_uris: ['https://elsewhere.example.org/login'] } })
    const visit = await lab.signIn(ALICE)
    expectSignedIn(lab, visit, ALICE)
    const page = await lab.signOut(visit.browser)
    expect((await lab.whoIs(visit.browser)).status, told(lab, page)).to.equal(401)
    // It has a page of its own for that, or returns all the same.
    expect([idp.issuer, lab.host.url].map((url) => new URL(url).origin)).to.include(new URL(page.url).origin)
  },

  wrong_issuer_slash: async ({ idp, lab: start }) => {
    const { issuer } = idp
    const lab = await start({ oidc: { issuer: issuer.endsWith('/') ? issuer.slice(0, -1) : `${issuer}/` } })
    expectSignedIn(lab, await lab.signIn(ALICE), ALICE)
  },

  wrong_issuer_path: (bench) =>
    findsNothing(bench, `${bench.idp.issuer.replace(/\/$/, '')}/of-another`, [
      /\/of-another/,
      /"status":[34]\d\d|does not match/,
    ]),

  wrong_scope: async (bench) => {
    const lab = await bench.lab({ custom: { scope: ['profile', 'email', 'scope-unheard-of'] } })
    const visit = await lab.signIn(ALICE)
    // Some leave it out.
    if (visit.who.status === 200) return
    expectNamed(bench, 'wrong_scope', lab, visit, 'scope_refused', [
      /invalid_scope/,
      /scope-unheard-of/,
      /custom\.scope/,
    ])
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
            jwks: { keys: [makeKey('RSA', { kid: 'k', use: 'sig' }).public] },
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

  wrong_key: async (bench) => {
    const [known, own] = ['known', 'own'].map((kid) => makeKey('RSA', { kid, use: 'sig', alg: 'RS256' }))
    const lab = await bench.lab({
      keys: own ? [own] : [],
      registered: { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: known ? [known.public] : [] } },
      client: { token_endpoint_auth_method: 'private_key_jwt' },
    })
    const visit = await lab.signIn(ALICE)
    expectRefused(lab, visit, 'token_request_failed', [/\bkeys?\b|jwksFile/])
  },

  wrong_group: async ({ idp, lab: start }) => {
    const byScope = idp.cannot.groups_by_scope === undefined
    const lab = await start({
      registered: { groups: byScope ? 'by_scope' : 'unasked' },
      groups: { required: 'Mesh users', ...(byScope ? {} : { scope: '' }) },
    })
    const visit = await lab.signIn(BOB)
    // What came stands beside what was wanted.
    expectRefused(lab, visit, 'not_in_required_group', [/groups\.required/, new RegExp(idp.groupName('mesh-users'))])
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
