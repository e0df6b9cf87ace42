import { expect } from 'chai'
import { makeKey } from '../../support/client-keys.ts'
import { type KeyedOptions, keyedSetups, partsOf, type SentRequest } from '../../support/keyed-setup.ts'

const METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'client_secret_jwt', 'private_key_jwt'] as const
const PATHS = ['/token', '/token/introspection', '/token/revocation']
const LONG_SECRET = 'a-client-secret-that-is-long-enough-for-every-HS-algorithm-there-is'

/** How a request shows who sends it, in the words of the Client object. */
function methodOf({ headers, form }: SentRequest): (typeof METHODS)[number] {
  if (headers.authorization?.startsWith('Basic ')) return 'client_secret_basic'
  if (form.has('client_secret')) return 'client_secret_post'
  const assertion = form.get('client_assertion')
  if (assertion === null) return 'none'
  return String(partsOf(assertion)[0].alg).startsWith('HS') ? 'client_secret_jwt' : 'private_key_jwt'
}

describe('the client object in a whole login', () => {
  const start = keyedSetups()
  const key = makeKey('P-256', { kid: 'one' })

  /** Signs in, asks the IdP about the session, and signs out. */
  async function wholeRound(options: KeyedOptions = {}) {
    const setup = await start({ keys: [key], ...options })
    const visit = await setup.signIn()
    const { state } = JSON.parse((await visit.person.step(`${setup.host.url}api/session`)).body) as { state: string }
    await visit.person.step(`${setup.host.url}logout`)
    const sentTo = (path: string) => setup.sent.filter(({ url }) => new URL(url).pathname === path)
    return { ...setup, ...visit, state, sentTo }
  }
  const alike = (members: Record<string, unknown>) => ({ client: members, registered: members })

  it('has the defaults of the specification', async () => {
    const { host, asked, sentTo, page } = await wholeRound()
    expect(page.url).to.equal(host.url)
    for (const path of PATHS) expect(sentTo(path).map(methodOf), path).to.deep.equal(['client_secret_basic'])
    const { searchParams } = await asked()
    expect(searchParams.get('response_type')).to.equal('code')
    for (const name of ['max_age', 'claims', 'request', 'response_mode'])
      expect(searchParams.has(name), name).to.equal(false)
  })

  it('works with exactly the client_id and client_secret that the IdP knows', async () => {
    const { failure, who } = await wholeRound({ client: { client_secret: 'not-the-secret' } })
    expect([who.status, failure?.code]).to.deep.equal([401, 'token_request_failed'])
    const { page } = await wholeRound({ client: { client_id: 'unknown-at-the-idp' } })
    expect(page.status).to.be.above(399)
  })

  for (const method of METHODS) {
    it(`follows token_endpoint_auth_method, and its algorithm, at introspection and revocation by ${method}`, async () => {
      const jwt = method.endsWith('_jwt')
      const alg = method === 'client_secret_jwt' ? 'HS384' : 'ES256'
      const { page, host, state, sentTo, authLog } = await wholeRound({
        // The other key comes first in the file, and the IdP takes its algorithm too.
        keys: [makeKey('Ed25519', { kid: 'first' }), key],
        ...alike({
          client_secret: LONG_SECRET,
          token_endpoint_auth_method: method,
          ...(jwt ? { token_endpoint_auth_signing_alg: alg } : {}),
        }),
      })
      expect(page.url, page.text).to.equal(host.url)
      expect(state).to.equal('active')
      for (const path of PATHS) {
        expect(sentTo(path).map(methodOf), path).to.deep.equal([method])
        if (jwt) expect(partsOf(sentTo(path)[0]?.form.get('client_assertion') ?? '')[0].alg, path).to.equal(alg)
      }
      expect(authLog.map(({ event }) => event)).to.deep.equal(['login'])
    })
  }

  for (const [alg, other] of [
    ['RS256', 'ES256'],
    ['ES256', 'RS256'],
  ]) {
    it(`takes ID tokens that are signed by the configured ${alg}, and by no other algorithm`, async () => {
      const client = { id_token_signed_response_alg: alg }
      expect((await wholeRound(alike(client))).who.status).to.equal(200)
      const refused = await wholeRound({ client, registered: { id_token_signed_response_alg: other } })
      expect([refused.who.status, refused.failure?.code]).to.deep.equal([401, 'id_token_invalid'])
    })
  }

  for (const used of ['code', 'id_token', 'code id_token']) {
    it(`takes the response type ${used}`, async () => {
      const { asked, who } = await wholeRound({
        client: { response_types: used },
        registered: { response_types: [used], grant_types: ['authorization_code', 'implicit'] },
      })
      expect(who).to.include({ status: 200, id: '~oidc:u-1001' })
      const { searchParams } = await asked()
      expect(searchParams.get('response_type')).to.equal(used)
      expect(searchParams.get('response_mode')).to.equal(used === 'code' ? null : 'form_post')
    })
  }

  it('has an address to come back to after logout: as written, the login page by default, and none with false', async () => {
    const custom = 'https://example.test/bye?lang=en#top'
    for (const [given, sent] of [
      [custom, custom],
      [false, null],
      [true, 'https://127.0.0.1:port/login'],
      [undefined, 'https://127.0.0.1:port/login'],
    ] as const) {
      const { host, signIn, asked } = await start({ client: { post_logout_redirect_uri: given } })
      const { searchParams } = await asked('logout', (await signIn()).person)
      expect(searchParams.has('id_token_hint')).to.equal(true)
      expect(searchParams.get('post_logout_redirect_uri')?.replace(String(host.port), 'port') ?? null).to.equal(sent)
    }
  })
})
