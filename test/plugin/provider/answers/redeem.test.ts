import { expect } from 'chai'
import { decodeJwt } from 'jose'
import { type Idp, startIdp } from '../../../../fixtures/idp/server.ts'
import { LoginError } from '../../../../plugin/errors.ts'
import type { Transaction } from '../../../../plugin/login/transaction/transaction.ts'
import { FETCH_LIMITS, openProvider, type Provider } from '../../../../plugin/mount/open-provider.ts'
import { directFetch } from '../../../../plugin/provider/http/direct-fetch.ts'
import { createDocuments } from '../../../../plugin/provider/issuer/documents.ts'
import { errorOf } from '../../../support/error-of.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { CLIENT, settingsOf } from '../../config/single-domain.ts'

const CALLBACK = 'http://127.0.0.1/auth-oidc-callback'
const FRONT = { response_types: 'id_token', response_mode: 'fragment' }
const TRANSACTION: Omit<Transaction, 'startedAt'> = {
  domainKey: '',
  state: 'state-of-this-login',
  nonce: 'nonce-of-this-login',
  codeVerifier: 'a'.repeat(43),
  returnPath: null,
}

describe('redemption of an authorization response', () => {
  const open: (Provider | Idp)[] = []
  let now: number
  let nowS: number
  beforeEach(() => {
    now = Date.now()
    nowS = Math.floor(now / 1000)
  })
  afterEach(async () => {
    for (const part of open.splice(0).reverse()) await part.close()
  })

  /**
   * Returns an answer of the fixture IdP, and a function that redeems it.
   *
   * @param changes changes to the claims of each ID token
   * @param rewrite changes the metadata and the token answer
   */
  async function answerWith(client: object = {}, changes: object = {}, rewrite = (members: object) => members) {
    const transaction = { ...TRANSACTION, startedAt: now }
    const idp = await startIdp()
    open.push(idp)
    for (const endpoint of ['discovery', 'token'] as const) {
      idp.faults.set(endpoint, { kind: 'rewrite', body: (original) => rewrite(original as object) })
    }
    await idp.addClient({
      ...CLIENT,
      ...client,
      redirect_uris: [CALLBACK],
      response_types: ['code', 'id_token', 'code id_token'],
      grant_types: ['authorization_code', 'implicit'],
    })
    const oidc = { issuer: idp.issuer, client: { ...CLIENT, redirect_uri: CALLBACK, ...client } }
    const clock = new FakeClock(now)
    const fetch = directFetch(FETCH_LIMITS, clock)
    const provider = openProvider(settingsOf(oidc), {
      clock,
      fetch,
      idpFetch: fetch,
      presets: {},
      documents: createDocuments(),
      onFailure: () => undefined,
      onDiscovered: () => undefined,
      onAudience: () => undefined,
    })
    open.push(provider)
    idp.forgeTokens((genuine) => idp.sign({ ...decodeJwt(genuine), ...changes }))
    const back = await idp.signIn(await provider.client.authorizationUrl(transaction), 'alice')
    const answer = new URLSearchParams(back.hash.slice(1) || back.search)
    const redeem = async () => provider.client.redeem(await provider.client.openAnswer(answer), transaction)
    return { idp, answer, redeem }
  }
  const refusal = async (login: Promise<unknown>) => {
    const error = await errorOf<LoginError>(login)
    expect(error).to.be.instanceOf(LoginError)
    return { code: error?.code, ...error?.details }
  }

  it('redeeming a code returns claims, sid, time of authentication and tokens', async () => {
    const { idp, redeem } = await answerWith({}, { sid: 'session-1', iat: nowS, auth_time: nowS - 60 })
    const { idToken, accessToken, tokens, claims, ...rest } = await redeem()
    expect(rest).to.deep.equal({
      issuer: idp.issuer,
      subject: 'u-1001',
      sid: 'session-1',
      authenticatedAt: now - 61_000,
      grantedScopes: ['openid', 'profile', 'email'],
      userInfoFailure: null,
    })
    expect(decodeJwt(idToken).sid).to.equal('session-1')
    expect(claims).to.include({ sid: 'session-1', name: 'Alice Example' })
    expect(tokens).to.include({ access: accessToken, refresh: null, offline: false })
    expect(tokens?.accessExpiresAt).to.be.within(now + 3_500_000, now + 3_600_000)
  })

  it('sid and authentication time of a login are null if the ID token lacks them', async () => {
    for (const sid of [undefined, 5, ['session-1'], null]) {
      const { redeem } = await answerWith({}, { sid, auth_time: undefined })
      expect(await redeem(), String(sid)).to.include({ sid: null, authenticatedAt: null })
    }
  })

  it('a login keeps its tokens only if the IdP can renew, introspect or revoke them', async () => {
    const each = ['refresh_token', 'introspection_endpoint', 'revocation_endpoint']
    for (const only of [...each, 'none']) {
      const { redeem } = await answerWith({}, {}, (members) => {
        const entries = Object.entries({ ...members, refresh_token: 'r' })
        return Object.fromEntries(entries.filter(([name]) => name === only || !each.includes(name)))
      })
      expect((await redeem()).tokens !== null, only).to.equal(only !== 'none')
    }
  })

  it('scopes and expiry of tokens are null if the token answer does not state them', async () => {
    for (const [scope, grantedScopes, offline] of [
      [undefined, null, false],
      ['openid offline_access', ['openid', 'offline_access'], true],
    ] as const) {
      const answer = await answerWith({}, {}, (members) => ({ ...members, scope, expires_in: undefined }))
      const { tokens, ...login } = await answer.redeem()
      expect(login.grantedScopes).to.deep.equal(grantedScopes)
      expect(tokens).to.include({ accessExpiresAt: null, offline })
    }
  })

  it('refuses a login if the token endpoint sends no ID token', async () => {
    const { redeem } = await answerWith({}, {}, (members) => ({ ...members, id_token: undefined }))
    expect(await refusal(redeem())).to.include({ code: 'token_request_failed' })
  })

  it('requests no key set if ID tokens are signed with the client secret', async () => {
    const { idp, redeem } = await answerWith({ id_token_signed_response_alg: 'HS256' })
    // The fixture IdP signs as the client is registered, unless told otherwise.
    idp.forgeTokens()
    expect(await redeem()).to.include({ subject: 'u-1001' })
    expect(idp.requests('jwks')).to.equal(0)
  })

  it('a login keeps only the ID token if the IdP sent no code', async () => {
    const { answer, redeem } = await answerWith(FRONT, { auth_time: nowS, email: undefined, at_hash: 'of nothing' })
    expect(await redeem()).to.include({
      idToken: answer.get('id_token'),
      accessToken: null,
      tokens: null,
      grantedScopes: null,
      authenticatedAt: null,
    })
  })

  it('refuses a login if the browser sends two ID tokens', async () => {
    const { answer, redeem } = await answerWith(FRONT)
    answer.append('id_token', String(answer.get('id_token')))
    expect(await refusal(redeem())).to.include({
      code: 'id_token_invalid',
      reason: 'there is more than one ID token',
    })
  })

  for (const response_types of ['code', 'id_token', 'code id_token']) {
    // Shows: plugin 4.13.
    it(`with ${response_types}, refuses an authentication older than default_max_age`, async () => {
      const client = { ...FRONT, response_types, default_max_age: 600 }
      for (const [age, isRefused] of [
        [500, false],
        [700, true],
      ] as const) {
        const { redeem } = await answerWith(client, { iat: nowS, auth_time: nowS - age })
        if (isRefused) expect(await refusal(redeem())).to.include({ code: 'id_token_invalid' })
        else expect(await redeem()).to.include({ subject: 'u-1001' })
      }
    })
  }
})
