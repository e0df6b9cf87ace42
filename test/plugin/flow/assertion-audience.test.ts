import { expect } from 'chai'
import { makeKey } from '../../support/client-keys.ts'
import { type KeyedOptions, type KeyedSetup, keyedSetups, partsOf } from '../../support/keyed-setup.ts'

const BY_KEY = { token_endpoint_auth_method: 'private_key_jwt' }

/** Returns the claims of the client assertions that the IdP received at a path. */
const assertionsAt = ({ sent }: KeyedSetup, path: string) =>
  sent
    .filter(({ url, form }) => new URL(url).pathname === path && form.has('client_assertion'))
    .map(({ form }) => partsOf(form.get('client_assertion') ?? '')[1])

describe('audience of client assertions', () => {
  const start = keyedSetups()

  /** Signs in twice, asks about the session, and signs out. */
  async function twoLogins(options: KeyedOptions) {
    const setup = await start({ keys: [makeKey('P-256')], registered: BY_KEY, ...options })
    const { host, output } = setup
    const assertionClaimsAt = (path: string) => assertionsAt(setup, path)
    const { person, page } = await setup.signIn()
    const pages = [page, await person.get(`${host.url}auth-oidc`)]
    await person.step(`${host.url}api/session`)
    await person.step(`${host.url}logout`)
    const audienceLines = output
      .map((line) => JSON.parse(line) as Record<string, unknown>)
      .filter(({ event }) => event === 'assertion-audience')
    return {
      ...setup,
      pages,
      assertionClaimsAt,
      audiencesAt: (path: string) => assertionClaimsAt(path).map(({ aud }) => aud),
      audienceLines,
    }
  }

  // Shows: plugin 4.31.
  it("retries once with the endpoint's URL as assertion audience after invalid_client", async () => {
    const { idp, host, pages, audiencesAt, assertionClaimsAt, audienceLines, authLog } = await twoLogins({
      client: { ...BY_KEY, require_pushed_authorization_requests: true },
      idp: { assertionAudience: 'address', requirePushedRequests: true },
    })
    expect(pages.map(({ url }) => url)).to.deep.equal([host.url, host.url])
    const endpoints = ['/request', '/token', '/token/introspection', '/token/revocation']
    const first = (path: string) => [idp.issuer, `${idp.issuer}${path}`]
    expect(audiencesAt('/token')).to.deep.equal([...first('/token'), `${idp.issuer}/token`])
    expect(audiencesAt('/request')).to.deep.equal([...first('/request'), `${idp.issuer}/request`])
    expect(audiencesAt('/token/introspection')).to.deep.equal(first('/token/introspection'))
    expect(audiencesAt('/token/revocation')).to.deep.equal(first('/token/revocation'))
    const ids = endpoints.flatMap(assertionClaimsAt).map(({ jti }) => jti)
    expect(new Set(ids).size).to.equal(ids.length)
    expect(audienceLines.map(({ endpoint }) => endpoint).toSorted()).to.deep.equal(
      endpoints.map((path) => `${idp.issuer}${path}`).toSorted(),
    )
    for (const line of audienceLines)
      expect(line).to.include({ audience: 'address', member: 'client.assertion_audience' })
    expect(authLog.filter(({ level }) => level !== 'info')).to.deep.equal([])
  })

  // Shows: plugin 4.31.
  it(`uses the endpoint's URL as audience if client.assertion_audience is "address"`, async () => {
    const { idp, host, pages, audiencesAt } = await twoLogins({
      client: { ...BY_KEY, assertion_audience: 'address' },
      idp: { assertionAudience: 'address' },
    })
    expect(pages.map(({ url }) => url)).to.deep.equal([host.url, host.url])
    expect(audiencesAt('/token')).to.deep.equal([`${idp.issuer}/token`, `${idp.issuer}/token`])
  })

  it('does not retry after invalid_grant, or if client.assertion_audience is set', async () => {
    const { audiencesAt, authLog } = await twoLogins({
      client: { ...BY_KEY, assertion_audience: 'https://elsewhere.example/token' },
    })
    expect(audiencesAt('/token')).to.deep.equal(['https://elsewhere.example/token', 'https://elsewhere.example/token'])
    expect(authLog.at(-1)?.fields).to.include({ code: 'token_request_failed', error: 'invalid_client' })
    for (const error of ['invalid_grant', 'unauthorized_client']) {
      const setup = await start({ keys: [makeKey('P-256')], client: BY_KEY, registered: BY_KEY })
      setup.idp.faults.set('token', { kind: 'answer', status: 400, body: JSON.stringify({ error }) })
      await setup.signIn()
      expect(setup.idp.requests('token'), error).to.equal(1)
    }
  })

  it("retries with the endpoint's URL as assertion audience after a 403 without a body", async () => {
    const setup = await start({ keys: [makeKey('P-256')], client: BY_KEY, registered: BY_KEY })
    setup.idp.faults.set('token', { kind: 'answer', status: 403 }, 1)
    expect((await setup.signIn()).page.url).to.equal(setup.host.url)
    expect(assertionsAt(setup, '/token').map(({ aud }) => aud)).to.deep.equal([
      setup.idp.issuer,
      `${setup.idp.issuer}/token`,
    ])
  })
})
