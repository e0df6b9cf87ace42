import { expect } from 'chai'
import { calculateJwkThumbprint, type JWK } from 'jose'
import { makeKey } from '../../support/client-keys.ts'
import { type KeyedOptions, keyedSetups, partsOf } from '../../support/keyed-setup.ts'

const BOUND = { dpop_bound_access_tokens: true }

describe('DPoP-bound access tokens', () => {
  const start = keyedSetups()

  async function login(options: KeyedOptions = {}) {
    const setup = await start({
      client: BOUND,
      registered: BOUND,
      ...options,
      idp: { claimsIn: 'userinfo', ...options.idp },
    })
    const { person, page } = await setup.signIn()
    const proofsAt = (path: string) =>
      setup.sent.filter(({ url }) => new URL(url).pathname === path).map(({ headers }) => partsOf(headers.dpop ?? '..'))
    return { ...setup, person, page, proofsAt }
  }

  // Shows: plugin 4.30.
  it('sends DPoP proofs with one ES256 key to the token and UserInfo endpoints', async () => {
    const { idp, host, person, page, proofsAt, sent } = await login()
    expect(page.url, page.text).to.equal(host.url)
    await person.get(`${host.url}auth-oidc`)
    const proofs = [...proofsAt('/token'), ...proofsAt('/me')]
    expect(proofs).to.have.length(4)
    const keys = await Promise.all(proofs.map(([{ jwk }]) => calculateJwkThumbprint(jwk as JWK)))
    expect(new Set(keys).size).to.equal(1)
    for (const [header] of proofs) {
      expect(header).to.include({ typ: 'dpop+jwt', alg: 'ES256' })
      expect(header.jwk).to.not.have.property('d')
    }
    expect(proofsAt('/token')[0]?.[1]).to.include({ htm: 'POST', htu: `${idp.issuer}/token` })
    expect(proofsAt('/me')[0]?.[1]).to.include({ htm: 'GET', htu: `${idp.issuer}/me` })
    expect(proofsAt('/me')[0]?.[1].ath).to.be.a('string')
    const userInfoRequest = sent.find(({ url }) => url.endsWith('/me'))
    expect(userInfoRequest?.headers.authorization).to.match(/^DPoP /)
  })

  it("repeats only the first request to learn the IdP's DPoP nonce", async () => {
    const { idp, host, person, page, proofsAt } = await login({
      client: { ...BOUND, require_pushed_authorization_requests: true },
      idp: { requireDpopNonces: true },
    })
    expect(page.url, page.text).to.equal(host.url)
    expect(proofsAt('/request').map(([, { nonce }]) => typeof nonce)).to.deep.equal(['undefined', 'string'])
    expect(proofsAt('/token').map(([, { nonce }]) => typeof nonce)).to.deep.equal(['string'])
    const countBefore = idp.requests('userinfo')
    expect((await person.get(`${host.url}auth-oidc`)).url).to.equal(host.url)
    expect(idp.requests('userinfo') - countBefore).to.equal(1)
  })

  it('sends a DPoP proof with the pushed request, with and without a request object', async () => {
    const { host, page, proofsAt } = await login({
      keys: [makeKey('P-256')],
      client: { ...BOUND, require_pushed_authorization_requests: true, require_signed_request_object: true },
    })
    expect(page.url, page.text).to.equal(host.url)
    expect(proofsAt('/request')[0]?.[1]).to.include({ htm: 'POST' })
  })

  it('a login with DPoP works if client assertions need the endpoint URL as audience', async () => {
    const { host, page, authLog } = await login({
      keys: [makeKey('P-256')],
      client: { ...BOUND, token_endpoint_auth_method: 'private_key_jwt' },
      registered: { ...BOUND, token_endpoint_auth_method: 'private_key_jwt' },
      idp: { assertionAudience: 'address' },
    })
    expect(page.url, JSON.stringify(authLog)).to.equal(host.url)
  })

  // Shows: plugin 4.30.
  it('refuses an access token of type Bearer if DPoP is configured', async () => {
    const { idp, signIn } = await start({ client: BOUND, registered: BOUND })
    const bearer = (answer: unknown) => ({ ...(answer as object), token_type: 'Bearer' })
    idp.faults.set('token', { kind: 'rewrite', body: bearer })
    const { page, failure } = await signIn()
    expect(page.url).to.match(/failure=login_failed$/)
    expect(failure).to.include({ code: 'access_token_invalid' })
    expect(idp.requests('userinfo')).to.equal(0)
  })

  it('sends no DPoP proof unless dpop_bound_access_tokens is set', async () => {
    const { host, page, sent } = await login({ client: {}, registered: {} })
    expect(page.url, page.text).to.equal(host.url)
    expect(sent.filter(({ headers }) => 'dpop' in headers)).to.deep.equal([])
  })
})
