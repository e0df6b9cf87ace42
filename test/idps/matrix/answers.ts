import { expect } from 'chai'
import { type KeyKind, makeKey } from '../../support/client-keys.ts'
import type { LabOptions } from '../support/lab.ts'
import { listenToTokens } from '../support/token-answers.ts'
import { describeVisit, expectNoComplaint, signInCleanly } from './expectations.ts'
import type { Run, Runs } from './run.ts'

const signsInWith =
  (options: LabOptions): Run =>
  async (bench) =>
    void (await signInCleanly(bench, options))

const signed = (alg: string) => signsInWith({ both: { id_token_signed_response_alg: alg } })

const encrypted = (alg: string, kind: KeyKind) =>
  signsInWith({
    both: { id_token_encrypted_response_alg: alg, id_token_encrypted_response_enc: 'A256GCM' },
    keys: [makeKey(kind, { kid: 'enc-1', use: 'enc' })],
  })

/**
 * Returns the parameters of the authorization request: those of the first address at the provider that has a client id.
 */
const requestParameters = (trail: readonly URL[]) =>
  trail.find(({ searchParams }) => searchParams.has('client_id'))?.searchParams

const answeredBy =
  (options: LabOptions, mode: string, expectCallback: (callback: URL | undefined) => void): Run =>
  async (bench) => {
    const { trail } = await signInCleanly(bench, options)
    expect(requestParameters(trail)?.get('response_mode') ?? null).to.equal(mode)
    expectCallback(trail.findLast(({ pathname }) => pathname === '/auth-oidc-callback'))
  }
const inBody = (callback: URL | undefined) => expect(callback?.search).to.equal('')
const asJwt = (callback: URL | undefined) => {
  expect(callback?.searchParams.has('response')).to.equal(true)
  expect(callback?.searchParams.has('code')).to.equal(false)
}
const jarm = (mode: string): LabOptions => ({
  both: { authorization_signed_response_alg: 'RS256' },
  client: { response_mode: mode },
})

const pushing = { require_pushed_authorization_requests: true }
const requestKey = () => makeKey('RSA', { kid: 'sig-1', use: 'sig', alg: 'RS256' })
const requestObjects = { request_object_signing_alg: 'RS256', require_signed_request_object: true }

export function expectPushed(trail: readonly URL[]): void {
  expect(requestParameters(trail)?.get('request_uri')).to.match(/^urn:/)
  expect(requestParameters(trail)?.has('redirect_uri')).to.equal(false)
}

export const ANSWERS = {
  signed_rs384: signed('RS384'),
  signed_rs512: signed('RS512'),
  signed_ps256: signed('PS256'),
  signed_es256: signed('ES256'),
  signed_es512: signed('ES512'),
  signed_eddsa: signed('EdDSA'),
  signed_hs256: signed('HS256'),
  signed_userinfo: signsInWith({
    both: { userinfo_signed_response_alg: 'RS256' },
    registered: { claimsIn: 'userinfo' },
  }),

  encrypted_rsa_oaep: encrypted('RSA-OAEP', 'RSA'),
  encrypted_rsa_oaep_256: encrypted('RSA-OAEP-256', 'RSA'),
  encrypted_ecdh_es: encrypted('ECDH-ES', 'P-256'),
  encrypted_userinfo: signsInWith({
    both: {
      userinfo_signed_response_alg: 'RS256',
      userinfo_encrypted_response_alg: 'RSA-OAEP',
      userinfo_encrypted_response_enc: 'A256GCM',
    },
    registered: { claimsIn: 'userinfo' },
    keys: [makeKey('RSA', { kid: 'enc-1', use: 'enc' })],
  }),

  form_post_code: answeredBy({ client: { response_mode: 'form_post' } }, 'form_post', inBody),
  form_post_hybrid: answeredBy({ both: { response_types: ['code id_token'] } }, 'form_post', inBody),
  form_post_id_token: answeredBy({ both: { response_types: ['id_token'] } }, 'form_post', inBody),
  // A browser does not send the fragment to the host. The callback's page posts it.
  fragment: answeredBy({ client: { response_mode: 'fragment' } }, 'fragment', inBody),
  jarm_query: answeredBy(jarm('query.jwt'), 'query.jwt', asJwt),
  jarm_form_post: answeredBy(jarm('form_post.jwt'), 'form_post.jwt', inBody),

  pushed: async (bench) => expectPushed((await signInCleanly(bench, { both: pushing })).trail),
  request_object: async (bench) => {
    const { trail } = await signInCleanly(bench, { both: requestObjects, keys: [requestKey()] })
    expect(trail.some(({ searchParams }) => searchParams.has('request'))).to.equal(true)
  },
  pushed_request_object: async (bench) => {
    const both = { ...requestObjects, ...pushing }
    expectPushed((await signInCleanly(bench, { both, keys: [requestKey()] })).trail)
  },

  dpop: async (bench) => {
    const tokens = listenToTokens()
    const { lab, browser, page } = await signInCleanly(bench, {
      both: { dpop_bound_access_tokens: true },
      registered: { claimsIn: 'userinfo' },
      host: { fetch: tokens.fetch },
    })
    expect(tokens.answers[0]?.token_type).to.match(/^dpop$/i)
    expect(await lab.stateOf(browser), describeVisit(lab, page)).to.be.oneOf(['active', 'unknown'])
    expectNoComplaint(lab, await lab.signOut(browser))
  },
} satisfies Runs
