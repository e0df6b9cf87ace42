import { expect } from 'chai'
import { makeKey } from '../../support/client-keys.ts'
import { type KeyedOptions, keyedSetups, partsOf, type SentRequest } from '../../support/keyed-setup.ts'
import { CLIENT, whoAmI } from '../../support/sign-in-setup.ts'

const METHODS = ['none', 'client_secret_basic', 'client_secret_post', 'client_secret_jwt', 'private_key_jwt'] as const
const PATHS = { introspection: '/token/introspection', revocation: '/token/revocation' } as const
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
  const { start, closeAll } = keyedSetups()
  const key = makeKey('P-256', { kid: 'one' })
  afterEach(closeAll)

  /** Signs in, asks the IdP about the session, and signs out. */
  async function wholeRound(options: KeyedOptions = {}) {
    const setup = await start({ keys: [key], ...options })
    const { host, browser } = setup
    const person = browser()
    const page = await person.login(host.url, 'alice', 'alice-demo')
    const who = await whoAmI(person, host.url)
    const { state } = JSON.parse((await person.step(`${host.url}api/session`)).body) as { state: string }
    await person.step(`${host.url}logout`)
    const sentTo = (path: string) => setup.sent.filter(({ url }) => new URL(url).pathname === path)
    return { ...setup, page, who, state, sentTo, line: setup.authLog.find(({ event }) => event.startsWith('login')) }
  }

  it('has the defaults of the specification', async () => {
    const { host, browser, sentTo, page } = await wholeRound()
    expect(page.url).to.equal(host.url)
    for (const path of ['/token', PATHS.introspection, PATHS.revocation]) {
      expect(sentTo(path).map(methodOf), path).to.deep.equal(['client_secret_basic'])
    }
    const asked = new URL((await browser().step(`${host.url}auth-oidc`)).headers.location ?? '').searchParams
    expect(asked.get('response_type')).to.equal('code')
    for (const name of ['max_age', 'claims', 'request', 'response_mode']) expect(asked.has(name), name).to.equal(false)
  })

  it('works with exactly the client_id and client_secret that the IdP knows', async () => {
    for (const [client, code] of [
      [{}, undefined],
      [{ client_secret: 'not-the-secret' }, 'token_request_failed'],
    ] as const) {
      const { line, who } = await wholeRound({ client })
      expect(line?.fields.code).to.equal(code)
      expect(who.status).to.equal(code === undefined ? 200 : 401)
    }
    const { page } = await wholeRound({ client: { client_id: 'unknown-at-the-idp' } })
    expect(page.status).to.be.above(399)
  })

  it('shows a secret with hyphens as it is in the header that the IdP gets, and an odd one so that the IdP reads it', async () => {
    const plain = '0f8fad5b-d9cb-469f-a165-70867728950e'
    for (const secret of [plain, 'a b+c%2D:d/e=f&g?~!*\'()_."#']) {
      const { page, host, sentTo, authLog } = await wholeRound({
        client: { client_secret: secret },
        registered: { client_secret: secret },
      })
      expect(page.url, page.text).to.equal(host.url)
      expect(authLog.map(({ event }) => event)).to.deep.equal(['login'])
      const [request] = sentTo('/token')
      const shown = Buffer.from(request?.headers.authorization?.slice('Basic '.length) ?? '', 'base64').toString()
      if (secret === plain) expect(shown).to.equal(`mesh:${plain}`)
    }
  })

  for (const method of METHODS) {
    it(`follows token_endpoint_auth_method, and its algorithm, at introspection and revocation by ${method}`, async () => {
      const jwt = method.endsWith('_jwt')
      const alg = method === 'client_secret_jwt' ? 'HS384' : 'ES256'
      const members = {
        client_secret: LONG_SECRET,
        token_endpoint_auth_method: method,
        ...(jwt ? { token_endpoint_auth_signing_alg: alg } : {}),
      }
      const { page, host, state, sentTo, authLog } = await wholeRound({
        // The other key comes first in the file, and the IdP takes its algorithm too.
        keys: [makeKey('Ed25519', { kid: 'first' }), key],
        client: members,
        registered: members,
      })
      expect(page.url, page.text).to.equal(host.url)
      expect(state).to.equal('active')
      for (const path of ['/token', ...Object.values(PATHS)]) {
        expect(sentTo(path).map(methodOf), path).to.deep.equal([method])
        if (jwt) expect(partsOf(sentTo(path)[0]?.form.get('client_assertion') ?? '')[0].alg, path).to.equal(alg)
      }
      expect(authLog.map(({ event }) => event)).to.deep.equal(['login'])
    })
  }

  for (const method of ['none', 'private_key_jwt'] as const) {
    it(`needs no client_secret where the method is ${method}`, async () => {
      const members = { token_endpoint_auth_method: method, client_secret: undefined }
      const { page, host, state, authLog } = await wholeRound({ client: members, registered: members })
      expect(page.url, page.text).to.equal(host.url)
      expect(state).to.equal('active')
      expect(authLog.map(({ event }) => event)).to.deep.equal(['login'])
    })
  }

  it('signs by token_endpoint_auth_signing_alg at the token endpoint', async () => {
    const members = { token_endpoint_auth_method: 'client_secret_jwt', token_endpoint_auth_signing_alg: 'HS384' }
    const { sentTo, who } = await wholeRound({
      client: { client_secret: LONG_SECRET, ...members },
      registered: { client_secret: LONG_SECRET, ...members },
    })
    expect(who.status).to.equal(200)
    expect(partsOf(sentTo('/token')[0]?.form.get('client_assertion') ?? '')[0].alg).to.equal('HS384')
  })

  for (const alg of ['RS256', 'ES256']) {
    it(`takes ID tokens that are signed by the configured ${alg}, and by no other algorithm`, async () => {
      const matching = { id_token_signed_response_alg: alg }
      const { who } = await wholeRound({ client: alg === 'RS256' ? {} : matching, registered: matching })
      expect(who.status).to.equal(200)
      const other = alg === 'RS256' ? 'ES256' : 'RS256'
      const refused = await wholeRound({ client: matching, registered: { id_token_signed_response_alg: other } })
      expect(refused.who.status).to.equal(401)
      expect(refused.line?.fields.code).to.equal('id_token_invalid')
    })
  }

  for (const used of ['code', 'id_token', 'code id_token']) {
    it(`takes the response type ${used}`, async () => {
      const { host, browser, who } = await wholeRound({
        client: { response_types: used },
        registered: { response_types: [used], grant_types: ['authorization_code', 'implicit'] },
      })
      expect(who).to.include({ status: 200, id: '~oidc:u-1001' })
      const asked = new URL((await browser().step(`${host.url}auth-oidc`)).headers.location ?? '').searchParams
      expect(asked.get('response_type')).to.equal(used)
      expect(asked.get('response_mode')).to.equal(used === 'code' ? null : 'form_post')
    })
  }

  it('has an address to come back to after logout: as written, the login page by default, and none with false', async () => {
    const returnAddress = async (client: object) => {
      const setup = await start({
        exactly: ({ idp, hostUrl }) => ({
          issuer: idp.issuer,
          newAccounts: true,
          client: { ...CLIENT, redirect_uri: `${hostUrl}auth-oidc-callback`, ...client },
        }),
      })
      const person = setup.browser()
      await person.login(setup.host.url, 'alice', 'alice-demo')
      const goodbye = new URL((await person.step(`${setup.host.url}logout`)).headers.location ?? '')
      return [goodbye.searchParams.get('post_logout_redirect_uri'), setup.host.port]
    }
    const custom = 'https://example.test/bye?lang=en#top'
    expect((await returnAddress({ post_logout_redirect_uri: custom }))[0]).to.equal(custom)
    expect((await returnAddress({ post_logout_redirect_uri: false }))[0]).to.equal(null)
    for (const client of [{}, { post_logout_redirect_uri: true }]) {
      const [address, port] = await returnAddress(client)
      expect(address).to.equal(`https://127.0.0.1:${port}/login`)
    }
  })
})
