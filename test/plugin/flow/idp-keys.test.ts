import { EventEmitter, once } from 'node:events'
import { expect } from 'chai'
import type { ClientKeyPair } from '../../support/client-keys.ts'
import { keyedSetups, partsOf } from '../../support/keyed-setup.ts'

describe('key rotation at the IdP', () => {
  const start = keyedSetups()

  const flow = (members: Record<string, unknown>, keys: readonly ClientKeyPair[] = []) => {
    const { response_mode: _asked, ...registered } = members
    return start({ client: members, registered, keys })
  }

  // Shows: plugin 9.20.
  it("a login succeeds if the IdP rotates its keys between the login's two ID tokens", async () => {
    const { host, idp, clock, signIn, authLog } = await flow({ response_types: ['code id_token'] })
    let tokens = 0
    idp.forgeTokens(async (genuine) => {
      tokens += 1
      if (tokens === 2) await idp.rotateKeys({ withdraw: true })
      return idp.sign(partsOf(genuine)[1])
    })
    const visit = signIn()
    await clock.pass(1_000)
    expect((await visit).page.url, JSON.stringify(authLog)).to.equal(host.url)
    expect(idp.requests('jwks')).to.equal(2)
  })

  it('accepts an answer signed with a new key even right after a key set request', async () => {
    const { host, idp, clock, signIn, authLog } = await flow({ response_mode: 'query.jwt' })
    const { person } = await signIn()
    await idp.rotateKeys({ withdraw: true })
    const page = person.get(`${host.url}auth-oidc`)
    await clock.pass(1_000)
    expect((await page).url, JSON.stringify(authLog)).to.equal(host.url)
  })

  it('a login succeeds if the IdP rotates keys between ID token and signed UserInfo', async () => {
    const members = { userinfo_signed_response_alg: 'RS256' }
    for (const type of ['code', 'code id_token']) {
      const rotating = { rotate: () => Promise.resolve() }
      const setup = await start({
        client: { ...members, response_types: [type] },
        registered: { ...members, response_types: [type] },
        idp: { claimsIn: 'userinfo' },
        host: {
          fetch: async (input, init) => {
            if (String(input).endsWith('/me')) await rotating.rotate()
            return globalThis.fetch(input, init)
          },
        },
      })
      const { host, idp, clock, signIn, authLog } = setup
      rotating.rotate = () => idp.rotateKeys({ withdraw: true })
      const visit = signIn()
      await clock.pass(1_000)
      expect((await visit).page.url, JSON.stringify(authLog)).to.equal(host.url)
      expect(idp.requests('jwks'), type).to.equal(2)
    }
  })

  it('a login requests the key set and the tokens at the same time', async () => {
    const keys = new EventEmitter()
    const requested = once(keys, 'requested')
    const { host, signIn } = await start({
      host: {
        fetch: async (input, init) => {
          const address = String(input)
          if (address.endsWith('/jwks')) keys.emit('requested')
          // Answer only after the keys were requested.
          if (address.endsWith('/token')) await requested
          return globalThis.fetch(input, init)
        },
      },
    })
    expect((await signIn()).page.url).to.equal(host.url)
  })
})
