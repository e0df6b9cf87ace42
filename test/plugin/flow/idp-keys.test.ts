import { EventEmitter, once } from 'node:events'
import { expect } from 'chai'
import type { ClientKeyPair } from '../../support/client-keys.ts'
import { keyedSetups, partsOf } from '../../support/keyed-setup.ts'
import { answerFromIdp } from '../../support/sign-in-setup.ts'

describe('the keys of the IdP', () => {
  const { start, closeAll } = keyedSetups()
  afterEach(closeAll)

  const flow = (members: Record<string, unknown>, keys: readonly ClientKeyPair[] = []) => {
    const { response_mode: _asked, ...registered } = members
    return start({ client: members, registered, keys })
  }

  it('may change between the two ID tokens of a login', async () => {
    const { host, idp, clock, browser, authLog } = await flow({ response_types: ['code id_token'] })
    let seen = 0
    idp.forgeTokens(async (genuine) => {
      seen += 1
      if (seen === 2) await idp.rotateKeys({ withdraw: true })
      return idp.sign(partsOf(genuine)[1])
    })
    const page = browser().login(host.url, 'alice', 'alice-demo')
    await clock.pass(1_000)
    expect((await page).url, JSON.stringify(authLog)).to.equal(host.url)
    expect(idp.requests('jwks')).to.equal(2)
  })

  for (const [what, members] of Object.entries<Record<string, unknown>>({
    'the ID token of a code': {},
    'an ID token that the browser brings': { response_types: ['id_token'] },
    'an answer that is signed as a whole': { response_mode: 'query.jwt' },
  })) {
    it(`that signs ${what} works at once, though the keys before were asked for just now`, async () => {
      const setup = await start({
        client: members,
        registered: { ...members, response_mode: undefined },
        idp: { claimsIn: 'userinfo' },
      })
      const { host, idp, clock, browser, authLog } = setup
      const person = browser()
      await person.login(host.url, 'alice', 'alice-demo')
      await idp.rotateKeys({ withdraw: true })
      const page = person.get(`${host.url}auth-oidc`)
      await clock.pass(1_000)
      expect((await page).url, JSON.stringify(authLog)).to.equal(host.url)
    })
  }

  it('may change between the ID token of a login and what the UserInfo endpoint signs', async () => {
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
      const { host, idp, clock, browser, authLog } = setup
      rotating.rotate = () => idp.rotateKeys({ withdraw: true })
      const page = browser().login(host.url, 'alice', 'alice-demo')
      await clock.pass(1_000)
      expect((await page).url, JSON.stringify(authLog)).to.equal(host.url)
      expect(idp.requests('jwks'), type).to.equal(2)
    }
  })

  it('are asked for together with the token: a login does not wait for one after the other', async () => {
    const keys = new EventEmitter()
    const asked = once(keys, 'asked')
    const setup = await start({
      host: {
        fetch: async (input, init) => {
          const address = String(input)
          if (address.endsWith('/jwks')) keys.emit('asked')
          // Not answered before the keys were asked for.
          if (address.endsWith('/token')) await asked
          return globalThis.fetch(input, init)
        },
      },
    })
    const { host, browser } = setup
    expect((await browser().login(host.url, 'alice', 'alice-demo')).url).to.equal(host.url)
  })

  it('are asked for once a second while forged answers pour in', async () => {
    const { host, idp, clock, browser, authLog } = await flow({ response_types: ['code id_token'] })
    const answers = await Promise.all(
      Array.from({ length: 40 }, async (_, at) => {
        const person = browser()
        const asked = new URL((await person.step(`${host.url}auth-oidc`)).headers.location!).searchParams
        const claims = { iss: idp.issuer, aud: 'mesh', sub: 'u-1001', nonce: asked.get('nonce'), c_hash: 'x' }
        const times = { iat: Math.floor(Date.now() / 1000), exp: Math.floor(Date.now() / 1000) + 60 }
        const token = await idp.sign({ ...claims, ...times }, { alg: 'RS256', kid: `forged-${at}` })
        const form = [['state', asked.get('state')!] as const, ['code', 'x'] as const, ['id_token', token] as const]
        return () => person.step(`${host.url}auth-oidc-callback`, { form })
      }),
    )
    const before = idp.requests('jwks')
    const outcomes = Promise.all(answers.map((send) => send()))
    // Each is by another key, for which is looked once more.
    while (clock.waiting(1_000) < answers.length) await new Promise(setImmediate)
    expect(idp.requests('jwks') - before).to.equal(1)
    await clock.advance(1_000)
    for (const { headers } of await outcomes) expect(headers.location).to.match(/failure=/)
    expect(authLog.every(({ fields }) => fields.code === 'id_token_invalid')).to.equal(true)
    expect(idp.requests('jwks') - before).to.equal(2)
  })

  it('that an answer without a key id is signed by are tried one after the other', async () => {
    const { host, idp, browser } = await flow({})
    await idp.rotateKeys()
    idp.forgeTokens((genuine) => idp.sign(partsOf(genuine)[1], { alg: 'RS256', kid: undefined }, 'previous'))
    const person = browser()
    const { headers } = await person.step(await answerFromIdp(person, host.url, 'alice'))
    expect(headers.location).to.equal('/')
  })
})
