import { expect } from 'chai'
import { type Idp, startIdp } from '../../../../fixtures/idp/server.ts'
import { ALIASED_ENDPOINTS, ISSUER_ENDPOINTS } from '../../../../plugin/config/rules/issuer-members.ts'
import type { ManualMetadata } from '../../../../plugin/config/settings.ts'
import { LoginError } from '../../../../plugin/errors.ts'
import { causeCode } from '../../../../plugin/log.ts'
import { limitFetch } from '../../../../plugin/provider/http/limited-fetch.ts'
import { type Issuer, type Outage, openIssuer } from '../../../../plugin/provider/issuer/discovery.ts'
import { createDocuments } from '../../../../plugin/provider/issuer/documents.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { until } from '../../../support/until.ts'

describe('discovery of an issuer', () => {
  let idp: Idp
  const open: Issuer[] = []
  let clock: FakeClock

  beforeEach(async () => {
    clock = new FakeClock()
    idp = await startIdp({})
  })
  afterEach(async () => {
    for (const issuer of open.splice(0)) issuer.close()
    await idp.close()
  })

  function start(over: { issuer?: string; manual?: ManualMetadata } = {}) {
    const failures: LoginError[] = []
    const outages: Outage[] = []
    let notify: () => void = () => undefined
    const firstFailure = new Promise<void>((resolve) => {
      notify = resolve
    })
    const issuer = openIssuer(
      { issuer: over.issuer ?? idp.issuer, manual: over.manual ?? {} },
      {
        fetch: limitFetch((url, init) => fetch(url, init as RequestInit), { totalMs: 5000, maxBytes: 100_000 }, clock),
        documents: createDocuments(),
        clock,
        random: () => 0.5,
        onFailure: (error, outage) => {
          failures.push(error)
          outages.push(outage)
          notify()
        },
        onDiscovered: () => undefined,
      },
    )
    open.push(issuer)
    return { issuer, failures, outages, firstFailure }
  }
  const publish = (metadata: object) => idp.faults.set('discovery', { kind: 'rewrite', body: () => metadata })
  const refusal = async (issuer: Issuer) => {
    const error: unknown = await issuer.metadata().catch((reason: unknown) => reason)
    if (!(error instanceof LoginError)) throw new Error('it was discovered')
    expect(error.code).to.equal('discovery_failed')
    return error
  }

  it('many simultaneous logins share one discovery request', async () => {
    const { issuer } = start()
    const results = await Promise.all(Array.from({ length: 20 }, () => issuer.metadata()))
    expect(results[19]?.authorization_endpoint).to.equal(`${idp.issuer}/auth`)
    expect(idp.requests('discovery')).to.equal(1)
  })

  it('discovery fails with the cause while the IdP is down, and succeeds afterwards', async () => {
    await idp.down()
    const { issuer, failures, firstFailure } = start()
    await firstFailure
    expect(causeCode(failures[0])).to.equal('ECONNREFUSED')
    expect(causeCode(await refusal(issuer))).to.equal('ECONNREFUSED')
    await idp.up()
    expect((await issuer.metadata()).issuer).to.equal(idp.issuer)
  })

  it('refuses discovery metadata of another issuer, and names both issuers', async () => {
    publish({ issuer: 'https://other.test', authorization_endpoint: 'https://other.test/a' })
    const error = await refusal(start().issuer)
    expect(error.details).to.include({
      address: `${idp.issuer}/.well-known/openid-configuration`,
      configuredIssuer: idp.issuer,
      publishedIssuer: 'https://other.test',
    })
    expect(error.message).to.match(/^OIDC: Discovery failed\..* `publishedIssuer`, but `issuer` is `configuredIssuer`/)
  })

  // Shows: plugin 2.8.
  it('finds the published issuer if issuer is set with a slash or the discovery path', async () => {
    for (const written of ['/', '/.well-known/openid-configuration', '/.well-known/openid-configuration/']) {
      const metadata = await start({ issuer: idp.issuer + written }).issuer.metadata()
      expect(metadata.issuer).to.equal(idp.issuer)
      expect(metadata.end_session_endpoint).to.equal(`${idp.issuer}/session/end`)
    }
    publish({ issuer: `${idp.issuer}/`, authorization_endpoint: `${idp.issuer}/auth` })
    const slashed = await start().issuer.metadata()
    expect(slashed).to.include({ issuer: `${idp.issuer}/`, authorization_endpoint: `${idp.issuer}/auth` })
  })

  const NAME_REMEDY = /Write the IdP's issuer in `issuer`/
  const html = { 'content-type': 'text/html' }
  for (const [answer, fault, details, remedy] of [
    ['a 404', { status: 404, body: '{"error":"no realm"}' }, { status: 404, error: 'no realm' }, NAME_REMEDY],
    ['a 503', { status: 503 }, { status: 503 }, /reports an internal error/],
    [
      'an HTML page',
      { status: 200, headers: html, body: '<p>' },
      { status: 200, contentType: 'text/html' },
      NAME_REMEDY,
    ],
    ['invalid JSON', { status: 200, body: '{' }, { status: 200 }, NAME_REMEDY],
    ['JSON without an issuer', { status: 200, body: '{}' }, { status: 200 }, NAME_REMEDY],
    [
      'a redirect',
      { to: 'https://elsewhere.test/x?a=1' },
      { status: 302, location: 'https://elsewhere.test/x' },
      /`location`/,
    ],
  ] as const) {
    it(`the error of a failed discovery describes the IdP's answer: ${answer}`, async () => {
      idp.faults.set('discovery', 'to' in fault ? { kind: 'redirect', ...fault } : { kind: 'answer', ...fault })
      const error = await refusal(start().issuer)
      const address = `${idp.issuer}/.well-known/openid-configuration`
      expect(error.details).to.include({ address, ...details })
      expect(error.message).to.match(/^OIDC: Discovery failed\./)
      expect(error.message).to.match(remedy)
      expect(error.message.length).to.be.at.most(300)
    })
  }

  it('reports if a failed discovery begins an outage, and if endpoints are configured', async () => {
    await idp.down()
    const manual = {
      authorization_endpoint: `${idp.issuer}/a`,
      token_endpoint: `${idp.issuer}/t`,
      jwks_uri: `${idp.issuer}/j`,
    }
    for (const byHand of [false, true]) {
      const { issuer, outages, firstFailure } = start(byHand ? { manual } : {})
      // Metadata is available while the first attempt is pending.
      if (byHand) expect(await issuer.metadata()).to.include(manual)
      await firstFailure
      if (!byHand) for (const _ of ['the attempt under way', 'the next one']) await refusal(issuer)
      expect(outages[0]).to.deep.equal({ begins: true, byHand })
      if (!byHand) expect(outages[1]).to.deep.equal({ begins: false, byHand })
    }
  })

  // Shows: plugin 10.23.
  it('refuses discovered endpoints without TLS', async () => {
    publish({ issuer: idp.issuer, authorization_endpoint: 'http://idp.test/a' })
    expect(causeCode(await refusal(start().issuer))).to.equal('PLAIN_HTTP')
  })

  describe('discovery of an issuer that is not on loopback', () => {
    const issuer = 'https://idp.test'
    const endpoints = ISSUER_ENDPOINTS.filter((name) => name !== 'registration_endpoint')
    const loopback = 'http://127.0.0.1:8500/x'

    function discover(published: object, manual: ManualMetadata = {}): Issuer {
      const opened = openIssuer(
        { issuer, manual },
        {
          fetch: async () => Response.json({ issuer, ...published }),
          documents: createDocuments(),
          clock,
          random: () => 0.5,
          onFailure: () => undefined,
          onDiscovered: () => undefined,
        },
      )
      open.push(opened)
      return opened
    }

    for (const address of [loopback, 'http://localhost/x', 'http://[::1]:9/x']) {
      // Shows: plugin 10.26.
      it(`refuses every discovered endpoint that has the address ${address}`, async () => {
        for (const name of endpoints) {
          const error = await refusal(discover({ [name]: address }))
          expect(causeCode(error), name).to.equal('PLAIN_HTTP')
          expect(error.details).to.deep.equal({ endpoint: name, published: address })
          expect(error.message).to.contain('set this endpoint in `issuer`')
        }
        for (const name of ALIASED_ENDPOINTS) {
          const error = await refusal(discover({ mtls_endpoint_aliases: { [name]: address } }))
          expect(error.details.endpoint).to.equal(`mtls_endpoint_aliases.${name}`)
        }
      })
    }

    // Shows: plugin 10.26.
    it('accepts a configured endpoint on loopback, unlike a discovered one', async () => {
      const published = Object.fromEntries(endpoints.map((name) => [name, loopback]))
      const manual = Object.fromEntries(endpoints.map((name) => [name, 'http://127.0.0.1:9/own']))
      const mtls_endpoint_aliases = { token_endpoint: 'http://127.0.0.1:9/own' }
      expect(await discover(published, { ...manual, mtls_endpoint_aliases }).metadata()).to.include(manual)
    })
  })

  it('refreshes an old discovery document in the background, or keeps it on failure', async () => {
    const { issuer, firstFailure } = start()
    const first = await issuer.metadata()
    await idp.down()
    await clock.advance(2 * 60 * 60_000)
    expect(await issuer.metadata()).to.equal(first)
    await firstFailure
    expect(await issuer.metadata()).to.equal(first)
  })

  it('refreshes a discovery document that was requested while the clock was ahead', async () => {
    const [rightly, ahead] = [clock.now(), clock.now() + 40 * 24 * 60 * 60_000]
    clock.set(ahead)
    const { issuer } = start()
    const first = await issuer.metadata()
    clock.set(rightly)
    expect(await issuer.metadata()).to.equal(first)
    await until('the new document', async () => (await issuer.metadata()) !== first)
    await issuer.metadata()
    expect(idp.requests('discovery')).to.equal(2)
  })
})
