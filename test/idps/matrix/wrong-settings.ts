import { expect } from 'chai'
import { makeKey } from '../../support/client-keys.ts'
import type { CaseName } from '../support/cases.ts'
import type { LabOptions } from '../support/lab.ts'
import { ALICE, BOB } from '../support/people.ts'
import { describeVisit, expectRefused, signInAs } from './expectations.ts'
import { groupsOf } from './groups.ts'
import type { Run, Runs } from './run.ts'

/**
 * Expects the login to end where this provider shows the error: on its own page, or at the host with a log line that
 * names the remedy.
 */
const failsWith =
  (name: CaseName, options: LabOptions, codes: string | readonly string[], words: readonly RegExp[]): Run =>
  async ({ idp, lab: start }) => {
    const lab = await start(options)
    const visit = await lab.signIn(ALICE)
    // Some providers ignore a scope that they do not know.
    if (name === 'wrong_scope' && visit.me.status === 200) return
    if (!idp.ownPage.has(name)) return expectRefused(lab, visit, codes, words)
    expect(new URL(visit.page.url).origin, describeVisit(lab, visit.page)).to.equal(new URL(idp.issuer).origin)
    expect(visit.me.status).to.equal(401)
    expect(visit.failure).to.equal(undefined)
  }
const REFUSED = ['provider_error', 'token_request_failed']
const signingKey = (kid: string) => makeKey('RSA', { kid, use: 'sig', alg: 'RS256' })
const KEYED = { token_endpoint_auth_method: 'private_key_jwt', jwks: { keys: [signingKey('known').public] } } as const

export const WRONG_SETTINGS = {
  wrong_secret: failsWith(
    'wrong_secret',
    { client: { client_secret: 'not-the-secret-of-this-client-at-all-00' } },
    'token_request_failed',
    [/client\.client_secret/, /"status":40[013]/],
  ),
  wrong_client_id: failsWith('wrong_client_id', { client: { client_id: 'nobody-by-this-name' } }, REFUSED, [
    /client_id/,
  ]),
  wrong_redirect_uri: failsWith(
    'wrong_redirect_uri',
    { registered: { redirect_uris: ['https://elsewhere.example.org/auth-oidc-callback'] } },
    REFUSED,
    [/redirect_uri/],
  ),
  wrong_scope: failsWith(
    'wrong_scope',
    { custom: { scope: ['profile', 'email', 'scope-unheard-of'] } },
    'scope_refused',
    [/invalid_scope/, /scope-unheard-of/, /custom\.scope/],
  ),
  wrong_key: failsWith(
    'wrong_key',
    { keys: [signingKey('own')], registered: KEYED, client: { token_endpoint_auth_method: 'private_key_jwt' } },
    'token_request_failed',
    [/\bkeys?\b|jwksFile/],
  ),

  wrong_post_logout: async ({ idp, lab: start }) => {
    const lab = await start({ registered: { post_logout_redirect_uris: ['https://elsewhere.example.org/login'] } })
    const { browser } = await signInAs(lab, ALICE)
    const page = await lab.signOut(browser)
    expect((await lab.whoIs(browser)).status, describeVisit(lab, page)).to.equal(401)
    // The provider shows a page of its own for that, or returns to the host regardless.
    expect([idp.issuer, lab.host.url].map((url) => new URL(url).origin)).to.include(new URL(page.url).origin)
  },

  wrong_issuer_slash: async ({ idp, lab: start }) => {
    const { issuer } = idp
    const lab = await start({ oidc: { issuer: issuer.endsWith('/') ? issuer.slice(0, -1) : `${issuer}/` } })
    await signInAs(lab, ALICE)
  },

  // The host refuses the issuer before any redirect. The log line names the address and the result.
  wrong_issuer_path: (bench) =>
    failsWith(
      'wrong_issuer_path',
      { oidc: { issuer: `${bench.idp.issuer.replace(/\/$/, '')}/of-another` } },
      'discovery_failed',
      [/`issuer`/, /\/of-another/, /"status":[34]\d\d|does not match/],
    )(bench),

  wrong_signing_alg: async (bench) => {
    const alg = bench.idp.cannot.signed_es256 === undefined ? 'ES256' : 'RS512'
    const lab = await bench.lab({
      registered: { id_token_signed_response_alg: alg },
      client: { id_token_signed_response_alg: 'RS256' },
    })
    const visit = await lab.signIn(ALICE)
    expectRefused(lab, visit, 'id_token_invalid', [/client\.id_token_signed_response_alg/, new RegExp(alg), /RS256/])
  },

  wrong_auth_method: async ({ idp, lab: start }) => {
    const asymmetric = idp.cannot.private_key_jwt === undefined
    const lab = await start({
      registered: asymmetric ? KEYED : { token_endpoint_auth_method: 'client_secret_post' },
      client: {
        token_endpoint_auth_method: 'client_secret_basic',
        ...(asymmetric ? { client_secret: 'a-secret-that-it-has-no-use-for-1' } : {}),
      },
    })
    const visit = await lab.signIn(ALICE)
    // Some providers accept either method.
    if (!asymmetric && visit.me.status === 200) return
    expectRefused(lab, visit, 'token_request_failed', [/client\.token_endpoint_auth_method/])
  },

  wrong_group: async ({ idp, lab: start }) => {
    const lab = await start(groupsOf(idp, { required: 'Mesh users' }))
    const visit = await lab.signIn(BOB)
    // The log line names both the required group and the groups received.
    expectRefused(lab, visit, 'not_in_required_group', [/groups\.required/, new RegExp(idp.groupName('mesh-users'))])
  },

  cancelled: async ({ idp, lab: start }) => {
    const lab = await start()
    const browser = lab.browser()
    const first = await browser.get(`${lab.host.url}auth-oidc`)
    if (!idp.cancel) throw new Error('a provider without a cancel button must list this in `cannot`')
    const page = await idp.cancel(browser, first)
    expect(page.url, describeVisit(lab, page)).to.match(/\/login\?failure=\w+$/)
    expect(page.text).to.not.match(/ask your administrator/i)
    expect(lab.authLog.at(-1)?.fields).to.include({ code: 'provider_error', error: 'access_denied' })
    expect((await lab.whoIs(browser)).status).to.equal(401)
  },
} satisfies Runs
