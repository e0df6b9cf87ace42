import { expect } from 'chai'
import { type Idp, startIdp } from '../../../../fixtures/idp/server.ts'
import { systemClock } from '../../../../plugin/clock.ts'
import { openProvider, type Provider } from '../../../../plugin/mount/open-provider.ts'
import type { ProviderClient } from '../../../../plugin/provider/client.ts'
import { createDocuments } from '../../../../plugin/provider/issuer/documents.ts'
import type { Renewable } from '../../../../plugin/provider/tokens/renewal.ts'
import { type ClientKeyPair, makeKey } from '../../../support/client-keys.ts'
import { errorOf } from '../../../support/error-of.ts'
import { settingsOf } from '../../config/single-domain.ts'

const CALLBACK = 'http://127.0.0.1:1/callback'
const CLIENT = { client_id: 'mesh', client_secret: 'a-client-secret-of-the-tests', redirect_uri: CALLBACK }
const INACTIVE = { kind: 'answer', status: 200, body: '{"active":false}' } as const
const TRANSACTION = { domainKey: '', state: 's'.repeat(43), nonce: 'n', codeVerifier: 'v'.repeat(43), returnPath: null }

describe('renewal, introspection and revocation of tokens', () => {
  let idp: Idp
  const open: Provider[] = []
  beforeEach(async () => {
    idp = await startIdp()
  })
  afterEach(async () => {
    for (const provider of open.splice(0)) provider.close()
    await idp.close()
  })

  const register = (members: Record<string, unknown> = {}) =>
    idp.addClient({ ...CLIENT, redirect_uris: [CALLBACK], ...members })

  function connect(members: Record<string, unknown> = {}, keys: readonly ClientKeyPair[] = []) {
    const oidc = { issuer: idp.issuer, client: { ...CLIENT, ...members } }
    const settings = settingsOf(oidc, {
      ...(keys.length > 0 ? { credentials: { '': { jwksFile: 'keys' } } } : {}),
      readFile: () => JSON.stringify({ keys: keys.map((key) => key.private) }),
    })
    const fetch = globalThis.fetch as never
    const nothing = () => undefined
    const provider = openProvider(settings, {
      clock: systemClock,
      fetch,
      idpFetch: fetch,
      presets: {},
      documents: createDocuments(),
      onFailure: nothing,
      onDiscovered: nothing,
      onAudience: nothing,
    })
    open.push(provider)
    return provider.client
  }

  /** Returns the code of the error, which must not quote the token. */
  const failureOf = async (work: Promise<unknown>) => {
    const error = await errorOf<{ code: string; details: object; message: string }>(work)
    expect(JSON.stringify([error?.details, error?.message])).to.not.include('the-token')
    return error?.code
  }

  async function accessToken(client: ProviderClient): Promise<string> {
    const transaction = { ...TRANSACTION, startedAt: Date.now() }
    const back = await idp.signIn(await client.authorizationUrl(transaction), 'alice')
    const redeemed = await client.redeem(await client.openAnswer(back.searchParams), transaction)
    return redeemed.accessToken!
  }

  describe("renewal of a session's tokens", () => {
    const OLD = { access: 'old', accessExpiresAt: 1, refresh: 'the-token', offline: true }
    const SESSION = { subject: 'u-1001', idToken: null }
    const answerWith = (answer: object, status = 200) =>
      idp.faults.set('token', { kind: 'answer', status, body: JSON.stringify(answer) })
    const fresh = (idToken?: string) => ({ access_token: 'new', token_type: 'Bearer', id_token: idToken })
    const renew = (session: Renewable = SESSION) => connect().renew(OLD, OLD.refresh, session)
    const claims = () => ({ iss: idp.issuer, sub: 'u-1001', aud: 'mesh' })

    it('a renewal returns the tokens that the IdP sends', async () => {
      answerWith({ ...fresh(), expires_in: 60, refresh_token: 'next' })
      const startedAt = Date.now()
      const { tokens, idToken } = await renew()
      const { accessExpiresAt, ...rest } = tokens
      expect({ ...rest, idToken }).to.deep.equal({ access: 'new', refresh: 'next', offline: true, idToken: null })
      // The lifetime is in whole seconds and rounded down.
      expect(accessExpiresAt).to.be.within(startedAt + 59_000, Date.now() + 60_000)
    })

    it('a renewal keeps the refresh token if the IdP sends no new refresh token', async () => {
      answerWith(fresh())
      expect((await renew()).tokens).to.deep.equal({ ...OLD, access: 'new', accessExpiresAt: null })
    })

    it('a renewal fails if the IdP refuses it or does not answer', async () => {
      answerWith({ error: 'invalid_grant', error_description: 'the-token' }, 400)
      expect(await failureOf(renew())).to.equal('token_request_failed')
      idp.faults.set('token', { kind: 'reset' })
      expect(await failureOf(renew())).to.equal('provider_unreachable')
    })

    it('accepts a renewed ID token of any age for the same user, audience and IdP', async () => {
      const two = ['mesh', 'other']
      for (const [now, previousAudience] of [
        ['mesh', 'mesh'],
        [two, two.toReversed()],
      ] as const) {
        const idToken = await idp.sign({ ...claims(), aud: now, iat: 1, exp: 2 })
        answerWith(fresh(idToken))
        const first = await idp.sign({ ...claims(), aud: previousAudience })
        expect((await renew({ subject: 'u-1001', idToken: first })).idToken).to.equal(idToken)
      }
    })

    for (const [difference, changes] of [
      ['another issuer', { iss: 'https://other.example' }],
      ['another user', { sub: 'u-1002' }],
      ['another audience', { aud: 'other' }],
      ['an additional audience', { aud: ['mesh', 'other'] }],
    ] as const) {
      // Shows: plugin 9.15.
      it(`refuses a renewed ID token of ${difference}`, async () => {
        answerWith(fresh(await idp.sign({ ...claims(), ...changes })))
        expect(await failureOf(renew())).to.equal('id_token_invalid')
      })
    }

    it('refuses a renewed ID token with an invalid signature', async () => {
      const idToken = await idp.sign(claims())
      await idp.rotateKeys({ withdraw: true })
      for (const forged of [idToken, 'a.b.c']) {
        answerWith(fresh(forged))
        expect(await failureOf(renew())).to.equal('id_token_invalid')
      }
    })

    it("a renewal keeps the previous ID token if the IdP's keys are unavailable", async () => {
      const previous = await idp.sign(claims())
      answerWith({ ...fresh(await idp.sign(claims())), refresh_token: 'next' })
      idp.faults.set('jwks', { kind: 'answer', status: 500 })
      const { tokens, idToken } = await renew({ ...SESSION, idToken: previous })
      expect(tokens.refresh).to.equal('next')
      expect(idToken).to.equal(previous)
    })
  })

  it('a token that the IdP does not know counts as revoked', async () => {
    await register()
    expect(await connect().revoke('nobody-knows-it', 'refresh_token')).to.equal(true)
  })

  for (const [method, alg] of [
    ['none', undefined],
    ['client_secret_basic', undefined],
    ['client_secret_post', undefined],
    ['client_secret_jwt', 'HS512'],
    ['private_key_jwt', 'ES256'],
  ] as const) {
    // Shows: plugin 4.19, 4.20, 4.22, 4.23.
    it(`revocation and introspection use ${method}, unlike token requests`, async () => {
      await register()
      const key = makeKey('P-256', { kid: 'k' })
      const authAt = (where: string) => ({
        [`${where}_endpoint_auth_method`]: method,
        ...(alg ? { [`${where}_endpoint_auth_signing_alg`]: alg } : {}),
      })
      const client = connect({ ...authAt('introspection'), ...authAt('revocation') }, [key])
      const token = await accessToken(client)
      // Now the IdP accepts only this method.
      await register({ ...authAt('token'), ...(method === 'private_key_jwt' ? { jwks: { keys: [key.public] } } : {}) })
      // This IdP requires a secret for introspection.
      if (method !== 'none') expect(await client.introspect(token)).to.equal(true)
      expect(await client.revoke(token, 'access_token')).to.equal(true)
      if (method !== 'none') expect(await client.introspect(token)).to.equal(false)
    })
  }

  it('introspection fails if the token is inactive but UserInfo answers 429', async () => {
    await register()
    const client = connect()
    const token = await accessToken(client)
    idp.faults.set('introspection', INACTIVE)
    idp.faults.set('userinfo', { kind: 'answer', status: 429 })
    expect(await failureOf(client.introspect(token))).to.equal('introspection_failed')
    idp.faults.set('userinfo', { kind: 'answer', status: 401 })
    expect(await client.introspect(token)).to.equal(false)
  })

  it('reports if the IdP has no introspection endpoint or no revocation endpoint', async () => {
    await register()
    idp.faults.set('discovery', {
      kind: 'rewrite',
      body: (original) => {
        const { introspection_endpoint: _i, revocation_endpoint: _r, ...rest } = original as Record<string, unknown>
        return rest
      },
    })
    const client = connect()
    expect(await client.introspect('x')).to.equal(null)
    expect(await client.revoke('x', 'access_token')).to.equal(false)
  })

  it('errors of introspection and revocation have separate codes, and quote no token', async () => {
    await register()
    const client = connect({ introspection_endpoint_auth_method: 'none' })
    expect(await failureOf(client.introspect('the-token'))).to.equal('introspection_failed')
    idp.faults.set('revocation', { kind: 'answer', status: 400, body: '{"error":"invalid_client"}' })
    expect(await failureOf(client.revoke('the-token', 'access_token'))).to.equal('revocation_failed')
    await idp.down()
    expect(await failureOf(client.revoke('the-token', 'access_token'))).to.equal('provider_unreachable')
  })

  for (const [answer, status, body] of [
    ['fails', 500, '{"error":"server_error"}'],
    ['answers nonsense', 200, '{"active":"yes"}'],
    ['answers without active', 200, '{"error":"invalid_client"}'],
    ['answers with active and an error', 200, '{"active":false,"error":"invalid_client"}'],
    ['says inactive with another status', 202, '{"active":false}'],
    ['refuses the request', 403, '{"active":false}'],
    ['answers with HTML', 200, '<html>'],
  ] as const) {
    it(`introspection fails if the IdP ${answer}`, async () => {
      idp.faults.set('introspection', { kind: 'answer', status, body })
      expect(await failureOf(connect().introspect('the-token'))).to.equal('introspection_failed')
    })
  }
})
