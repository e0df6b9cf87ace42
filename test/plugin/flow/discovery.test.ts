import { expect } from 'chai'
import { type Idp, startIdp } from '../../../fixtures/idp/server.ts'
import { CLIENT, type Setup, setups, whoAmI } from '../../support/sign-in-setup.ts'

interface Line {
  readonly level: string
  readonly event: string
  readonly msg: string
  readonly [field: string]: unknown
}

describe('discovery in a whole login', () => {
  const { start, closeAll } = setups()
  const idps: Idp[] = []
  afterEach(async () => {
    await closeAll()
    for (const idp of idps.splice(0)) await idp.close()
  })

  const signIn = async ({ host, browser }: Setup) => {
    const person = browser()
    await person.login(host.url, 'alice', 'alice-demo')
    return (await whoAmI(person, host.url)).status
  }

  /** A host at an IdP whose discovery is changed by then, and what its plugin writes about it. */
  async function startAt(change: (idp: Idp) => void, oidc: (idp: Idp) => object = ({ issuer }) => ({ issuer })) {
    const idp = await startIdp()
    idps.push(idp)
    change(idp)
    const lines: Line[] = []
    let look: () => void = () => undefined
    const setup = await start({
      oidc: { ...oidc(idp) },
      host: {
        output: {
          write: (text: string) => {
            const line = JSON.parse(text) as Line
            if (/^disc|^not-pub/.test(line.event)) lines.push(line)
            look()
          },
        },
      },
    })
    await idp.addClient({
      ...CLIENT,
      redirect_uris: [`${setup.host.url}auth-oidc-callback`],
    })
    const told = (event: string) =>
      new Promise<void>((resolve) => {
        look = () => {
          if (lines.some((line) => line.event === event)) resolve()
        }
        look()
      })
    return { setup, idp, lines, told }
  }
  const events = (lines: readonly Line[]) => lines.map(({ level, event }) => `${level} ${event}`)

  it('that fails is one warning an outage where all endpoints are given by hand, and an info when it works again', async () => {
    const { setup, idp, lines, told } = await startAt(
      ({ faults }) => faults.set('discovery', { kind: 'answer', status: 503 }, 2),
      ({ issuer }) => ({
        issuer: {
          issuer,
          authorization_endpoint: `${issuer}/auth`,
          token_endpoint: `${issuer}/token`,
          jwks_uri: `${issuer}/jwks`,
        },
      }),
    )
    await told('discovery-failed')
    expect(await signIn(setup)).to.equal(200)
    const { clock } = setup
    await clock.advance(1_000)
    // Until the answer is there: no limit of a request waits any more.
    while (idp.requests('discovery') < 2 || clock.waiting(10_000) > 0) await new Promise(setImmediate)
    await clock.advance(2_000)
    await told('discovered')
    expect(idp.requests('discovery')).to.equal(3)
    expect(events(lines)).to.deep.equal(['warn discovery-failed', 'info discovered'])
    expect(lines[0]).to.include({ status: 503, address: `${idp.issuer}/.well-known/openid-configuration` })
  })

  it('names both issuers where they differ, in both logs', async () => {
    const { setup, idp, lines, told } = await startAt(({ faults }) =>
      faults.set('discovery', {
        kind: 'rewrite',
        body: (all) => ({ ...(all as object), issuer: 'https://idp.test/auth' }),
      }),
    )
    await told('discovery-failed')
    const both = { configuredIssuer: idp.issuer, publishedIssuer: 'https://idp.test/auth', status: 200 }
    expect(lines[0]).to.include({ level: 'error', ...both })
    await setup.browser().get(`${setup.host.url}auth-oidc`)
    expect(setup.authLog.at(-1)?.fields).to.include({ code: 'discovery_failed', ...both })
    expect(setup.authLog.at(-1)?.message).to.match(/`publishedIssuer`, not `configuredIssuer`/)
  })

  it('warns of what no list of the IdP has, and lets everybody in all the same', async () => {
    const { setup, lines } = await startAt(({ faults }) =>
      faults.set('discovery', {
        kind: 'rewrite',
        body: (all) => ({
          ...(all as object),
          scopes_supported: ['openid'],
          token_endpoint_auth_methods_supported: undefined,
          code_challenge_methods_supported: ['plain'],
        }),
      }),
    )
    expect(await signIn(setup)).to.equal(200)
    const missing = lines.filter(({ event }) => event === 'not-published')
    expect(missing.map(({ level, member, configured }) => `${level} ${member} ${configured}`)).to.deep.equal([
      'warn custom.scope profile',
      'warn custom.scope email',
      'warn PKCE S256',
    ])
    expect(missing[0]?.msg).to.match(/scopes_supported lacks profile \(custom\.scope\)/)
  })

  it('of a provider with everything that is configured warns of nothing', async () => {
    const { setup, lines } = await startAt(
      () => undefined,
      ({ issuer }) => ({ issuer, groups: { required: 'mesh-users' } }),
    )
    expect(await signIn(setup)).to.equal(200)
    expect(events(lines)).to.deep.equal(['info discovered'])
  })
})
