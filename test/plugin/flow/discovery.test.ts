import { expect } from 'chai'
import { setups } from '../../support/sign-in-setup.ts'

describe('discovery in a whole login', () => {
  const start = setups()
  /** What is written of discovery, oldest first. */
  const linesIn = (output: readonly string[]) =>
    output
      .map((text): Record<string, unknown> => JSON.parse(text))
      .filter(({ event }) => /^disc|^not-pub/.test(String(event)))

  it('names both issuers where they differ, in both logs', async () => {
    const { idp, asked, output, authLog } = await start({ publishes: { issuer: 'https://idp.test/auth' } })
    const both = { configuredIssuer: idp.issuer, publishedIssuer: 'https://idp.test/auth', status: 200 }
    await asked()
    expect(linesIn(output)[0]).to.include({ event: 'discovery-failed', level: 'error', ...both })
    expect(authLog.at(-1)?.fields).to.include({ code: 'discovery_failed', ...both })
    expect(authLog.at(-1)?.message).to.match(/`publishedIssuer`, not `configuredIssuer`/)
  })

  it('warns of what no list of the IdP has, and lets everybody in all the same', async () => {
    const { signIn, output } = await start({
      publishes: {
        scopes_supported: ['openid'],
        token_endpoint_auth_methods_supported: undefined,
        code_challenge_methods_supported: ['plain'],
      },
    })
    expect((await signIn()).who.status).to.equal(200)
    const missing = linesIn(output).filter(({ event }) => event === 'not-published')
    expect(missing.map(({ level, member, configured }) => `${level} ${member} ${configured}`)).to.deep.equal([
      'warn custom.scope profile',
      'warn custom.scope email',
      'warn PKCE S256',
    ])
    expect(missing[0]?.msg).to.match(/scopes_supported lacks profile \(custom\.scope\)/)
  })
})
