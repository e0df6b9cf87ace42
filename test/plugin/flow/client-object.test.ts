import { expect } from 'chai'
import { makeKey } from '../../support/client-keys.ts'
import { keyedSetups, partsOf } from '../../support/keyed-setup.ts'

const SECRET = 'a-client-secret-that-is-long-enough-for-every-HS-algorithm-there-is'

describe('login with settings in authStrategies.oidc.client', () => {
  const start = keyedSetups()

  // Shows: plugin 4.1, 4.2.
  it('a login fails if the IdP does not know the client_id or client_secret', async () => {
    const { signIn } = await start({ client: { client_secret: 'not-the-secret' } })
    const { failure, me } = await signIn()
    expect({ status: me.status, code: failure?.code }).to.deep.equal({ status: 401, code: 'token_request_failed' })
    const unknown = await start({ client: { client_id: 'unknown-at-the-idp' } })
    expect((await unknown.signIn()).page.status).to.be.above(399)
  })

  for (const [method, alg] of [
    ['client_secret_jwt', 'HS384'],
    ['private_key_jwt', 'ES256'],
  ]) {
    // Shows: plugin 4.21.
    it(`signs all assertions with token_endpoint_auth_signing_alg (${method})`, async () => {
      const members = {
        client_secret: SECRET,
        token_endpoint_auth_method: method,
        token_endpoint_auth_signing_alg: alg,
      }
      // The other key comes first in the file, and the IdP supports its algorithm too.
      const keys = [makeKey('Ed25519', { kid: 'first' }), makeKey('P-256', { kid: 'one' })]
      const { host, sent, signIn, authLog } = await start({ keys, client: members, registered: members })
      const { person } = await signIn()
      await person.step(`${host.url}api/session`)
      await person.step(`${host.url}logout`)
      const signed = sent
        .filter(({ form }) => form.has('client_assertion'))
        .map(({ url, form }) => [new URL(url).pathname, partsOf(form.get('client_assertion') ?? '')[0].alg])
      const endpoints = ['/token', '/token/introspection', '/token/revocation']
      expect(signed).to.deep.equal(endpoints.map((path) => [path, alg]))
      expect(authLog.map(({ event }) => event)).to.deep.equal(['login'])
    })
  }

  for (const [alg, otherAlg] of [
    ['RS256', 'ES256'],
    ['ES256', 'RS256'],
  ]) {
    // Shows: plugin 4.6.
    it(`accepts ID tokens signed with the configured ${alg} and no other algorithm`, async () => {
      const client = { id_token_signed_response_alg: alg }
      const agreed = await start({ client, registered: client })
      expect((await agreed.signIn()).me.status).to.equal(200)
      const refused = await start({ client, registered: { id_token_signed_response_alg: otherAlg } })
      const { me, failure } = await refused.signIn()
      expect({ status: me.status, code: failure?.code }).to.deep.equal({ status: 401, code: 'id_token_invalid' })
    })
  }

  // Shows: plugin 4.5.
  // Shows: meshcentral 15.
  it('logout sends the configured post_logout_redirect_uri, by default the login page', async () => {
    const custom = 'https://example.test/bye?lang=en#top'
    for (const [configured, sent] of [
      [custom, custom],
      [false, null],
      [true, 'https://127.0.0.1:port/login'],
      [undefined, 'https://127.0.0.1:port/login'],
    ] as const) {
      const { host, signIn, redirectFrom } = await start({ client: { post_logout_redirect_uri: configured } })
      const { searchParams } = await redirectFrom('logout', (await signIn()).person)
      expect(searchParams.has('id_token_hint')).to.equal(true)
      expect(searchParams.get('post_logout_redirect_uri')?.replace(String(host.port), 'port') ?? null).to.equal(sent)
    }
  })
})
