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
import { CLIENT, settingsOf } from '../../config/one-domain.ts'

const CALLBACK = 'http://127.0.0.1/auth-oidc-callback'
const FRONT = { response_types: 'id_token', response_mode: 'fragment' }
const TRANSACTION: Omit<Transaction, 'startedAt'> = {
  domainKey: '',
  state: 'state-of-this-login',
  nonce: 'nonce-of-this-login',
  codeVerifier: 'a'.repeat(43),
  returnPath: null,
}

describe('a redeemed login', () => {
  const open: (Provider | Idp)[] = []
  let now: number
  let nowS: number
  beforeEach(() => {
    now = Date.now()
    nowS = Math.floor(now / 1000)
  })
  afterEach(async () => {
    for (const one of open.splice(0).reverse()) await one.close()
  })

  /**
   * An answer of the fixture IdP, and what takes it.
   *
   * @param changes to the claims of each ID token
   * @param rewrite what becomes of the metadata, and of the token answer
   */
  async function answered(client: object = {}, changes: object = {}, rewrite = (members: object) => members) {
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

  it('says who signed in, in which session, when, and what the session has to keep', async () => {
    const { idp, redeem } = await answered({}, { sid: 'session-1', iat: nowS, auth_time: nowS - 60 })
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

  it('knows no session that the IdP does not name by a text, and no time that it does not say', async () => {
    for (const sid of [undefined, 5, ['session-1'], null]) {
      const { redeem } = await answered({}, { sid, auth_time: undefined })
      expect(await redeem(), String(sid)).to.include({ sid: null, authenticatedAt: null })
    }
  })

  it('keeps its tokens only where the IdP renews, introspects or revokes them', async () => {
    const each = ['refresh_token', 'introspection_endpoint', 'revocation_endpoint']
    for (const only of [...each, 'none']) {
      const { redeem } = await answered({}, {}, (members) => {
        const kept = Object.entries({ ...members, refresh_token: 'r' })
        return Object.fromEntries(kept.filter(([name]) => name === only || !each.includes(name)))
      })
      expect((await redeem()).tokens !== null, only).to.equal(only !== 'none')
    }
  })

  it('has the scopes that were asked for, and no end, where the token answer says nothing of them', async () => {
    for (const [scope, grantedScopes, offline] of [
      [undefined, null, false],
      ['openid offline_access', ['openid', 'offline_access'], true],
    ] as const) {
      const said = await answered({}, {}, (members) => ({ ...members, scope, expires_in: undefined }))
      const { tokens, ...login } = await said.redeem()
      expect(login.grantedScopes).to.deep.equal(grantedScopes)
      expect(tokens).to.include({ accessExpiresAt: null, offline })
    }
  })

  it('is refused without an ID token, whatever else was redeemed', async () => {
    const { redeem } = await answered({}, {}, (members) => ({ ...members, id_token: undefined }))
    expect(await refusal(redeem())).to.include({ code: 'token_request_failed' })
  })

  it('asks for no keys where the client secret signs', async () => {
    const { idp, redeem } = await answered({ id_token_signed_response_alg: 'HS256' })
    // What it makes by itself it signs so.
    idp.forgeTokens()
    expect(await redeem()).to.include({ subject: 'u-1001' })
    expect(idp.requests('jwks')).to.equal(0)
  })

  it('has nothing but its ID token where the browser brought that alone, which leaves claims to be asked for', async () => {
    const { answer, redeem } = await answered(FRONT, { auth_time: nowS, email: undefined, at_hash: 'of nothing' })
    expect(await redeem()).to.include({
      idToken: answer.get('id_token'),
      accessToken: null,
      tokens: null,
      grantedScopes: null,
      authenticatedAt: null,
    })
  })

  it('is refused where the browser brought two ID tokens, whichever is meant', async () => {
    const { answer, redeem } = await answered(FRONT)
    answer.append('id_token', String(answer.get('id_token')))
    expect(await refusal(redeem())).to.include({
      code: 'id_token_invalid',
      reason: 'there is more than one ID token',
    })
  })

  for (const response_types of ['code', 'id_token', 'code id_token']) {
    // Shows: plugin 4.13.
    it(`is refused with ${response_types} where the person signed in longer ago than default_max_age`, async () => {
      const client = { ...FRONT, response_types, default_max_age: 600 }
      for (const [age, isRefused] of [
        [500, false],
        [700, true],
      ] as const) {
        const { redeem } = await answered(client, { iat: nowS, auth_time: nowS - age })
        if (isRefused) expect(await refusal(redeem())).to.include({ code: 'id_token_invalid' })
        else expect(await redeem()).to.include({ subject: 'u-1001' })
      }
    })
  }
})
