import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { MemoryStore } from 'express-session'
import { SignJWT } from 'jose'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { startHost } from '../../../fixtures/host/server.ts'
import { memoryRevocations, type RevocationStore } from '../../../plugin/index.ts'
import { answerFromIdp, CLIENT, type Setup, type SetupOptions, setUp, whoAmI } from '../../support/sign-in-setup.ts'

const EVENTS = { 'http://schemas.openid.net/event/backchannel-logout': {} }
const PATH = 'auth-oidc-backchannel-logout'

describe('a logout that the IdP tells of', () => {
  const open: { close(): Promise<void> }[] = []
  afterEach(async () => {
    for (const setup of open.splice(0).reverse()) await setup.close()
  })

  const start = async (options: SetupOptions = {}, registered: Record<string, unknown> = {}) => {
    const setup = await setUp(options)
    open.push(setup)
    await setup.idp.addClient({
      ...CLIENT,
      redirect_uris: [`${setup.host.url}auth-oidc-callback`],
      post_logout_redirect_uris: [`${setup.host.url}login`],
      backchannel_logout_uri: `${setup.host.url}${PATH}`,
      backchannel_logout_session_required: true,
      ...options.registered,
      ...registered,
    })
    return setup
  }
  const signedIn = async (setup: Setup, name = 'alice') => {
    const person = setup.browser()
    await person.login(setup.host.url, name, `${name}-demo`)
    expect((await whoAmI(person, setup.host.url)).status).to.equal(200)
    return person
  }
  const isSignedIn = async (setup: Pick<Setup, 'host'>, person: ScriptedBrowser) =>
    (await whoAmI(person, setup.host.url)).status === 200
  /** The person signs out at the IdP itself, of everything. */
  const logOutAtIdp = async (setup: Setup, person: ScriptedBrowser) => {
    const page = await person.get(`${setup.idp.issuer}/session/end`)
    await person.submit(page.forms[0]!, {}, 'Yes, sign me out')
  }
  const post = async (setup: Pick<Setup, 'host'>, body: string | URLSearchParams, type?: string) => {
    const answer = await fetch(`${setup.host.url}${PATH}`, {
      method: 'POST',
      body,
      ...(type === undefined ? {} : { headers: { 'content-type': type } }),
    })
    const text = await answer.text()
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : JSON.parse(text) }
  }
  const send = (setup: Pick<Setup, 'host'>, token: string) => post(setup, new URLSearchParams({ logout_token: token }))
  const nowS = () => Math.floor(Date.now() / 1000)
  const claimsFor = (setup: Setup, changes: Record<string, unknown> = {}) => ({
    iss: setup.idp.issuer,
    aud: 'mesh',
    sub: 'u-1001',
    iat: nowS(),
    exp: nowS() + 120,
    jti: randomUUID(),
    events: EVENTS,
    ...changes,
  })
  const lines = (setup: Setup, event: string) => setup.authLog.filter((entry) => entry.event === event)
  /** What the ID token of the person's last login said. */
  const withIdTokens = (setup: Setup) => {
    const seen: string[] = []
    setup.idp.forgeTokens((token) => {
      seen.push(token)
      return token
    })
    return {
      tokens: seen,
      lastClaims: () => JSON.parse(Buffer.from(seen.at(-1)!.split('.')[1]!, 'base64url').toString()),
    }
  }

  it('ends sessions too where the issuer is configured with a slash, or as the address of its document', async () => {
    for (const path of ['', '/tenant']) {
      for (const written of ['/', '/.well-known/openid-configuration']) {
        const setup = await start({ idp: { path }, oidc: ({ idp }) => ({ issuer: idp.issuer + written }) })
        const person = await signedIn(setup)
        const token = await setup.idp.sign(claimsFor(setup))
        expect((await send(setup, token)).status).to.equal(200)
        expect(await isSignedIn(setup, person)).to.equal(false)
        const foreign = await setup.idp.sign(claimsFor(setup, { iss: `${setup.idp.issuer}/other` }))
        expect((await send(setup, foreign)).status).to.equal(400)
      }
    }
  })

  it('ends the session of that browser, and no other one', async () => {
    const setup = await start()
    const [person, sameElsewhere, other] = [await signedIn(setup), await signedIn(setup), await signedIn(setup, 'bob')]
    await logOutAtIdp(setup, person)

    expect(await isSignedIn(setup, person)).to.equal(false)
    expect(await isSignedIn(setup, sameElsewhere)).to.equal(true)
    expect(await isSignedIn(setup, other)).to.equal(true)
    expect(lines(setup, 'backchannel-logout').map(({ level, fields }) => ({ level, fields }))).to.deep.equal([
      { level: 'info', fields: { subject: 'u-1001', sessions: 1 } },
    ])
    expect((await signedIn(setup)).cookies).to.be.an('object')
  })

  it('ends all sessions of the person where the IdP does not say which one', async () => {
    const setup = await start({}, { backchannel_logout_session_required: false })
    const [person, sameElsewhere, other] = [await signedIn(setup), await signedIn(setup), await signedIn(setup, 'bob')]
    await logOutAtIdp(setup, person)

    expect(await isSignedIn(setup, person)).to.equal(false)
    expect(await isSignedIn(setup, sameElsewhere)).to.equal(false)
    expect(await isSignedIn(setup, other)).to.equal(true)
    expect(lines(setup, 'backchannel-logout')[0]?.fields).to.deep.equal({ subject: 'u-1001', sessions: 2 })
    // Under the same session of the IdP or a new one: the person can come back at once.
    expect(await isSignedIn(setup, await signedIn(setup))).to.equal(true)
  })

  it('ends a session by its session id alone', async () => {
    const setup = await start()
    const seen = withIdTokens(setup)
    const person = await signedIn(setup)
    const { sid } = seen.lastClaims()
    const other = await signedIn(setup)
    const token = await setup.idp.sign(claimsFor(setup, { sub: undefined, sid }), { alg: 'RS256', typ: 'logout+jwt' })
    expect((await send(setup, token)).status).to.equal(200)
    expect(await isSignedIn(setup, person)).to.equal(false)
    expect(await isSignedIn(setup, other)).to.equal(true)
  })

  it('needs no expiry in its token while that is at most 10 minutes old, and counts once all the same', async () => {
    const setup = await start()
    const person = await signedIn(setup)
    const token = await setup.idp.sign(claimsFor(setup, { exp: undefined, iat: nowS() - 540 }))
    expect((await send(setup, token)).status).to.equal(200)
    expect(await isSignedIn(setup, person)).to.equal(false)
    expect((await send(setup, token)).status).to.equal(400)
    expect(lines(setup, 'backchannel-logout-refused')[0]?.fields.reason).to.equal('it was used before')
  })

  it('is answered with 200, nothing in it, and is not to be stored', async () => {
    const setup = await start()
    const answer = await send(setup, await setup.idp.sign(claimsFor(setup)))
    expect(answer).to.include({ status: 200, body: null })
    expect(answer.headers.get('cache-control')).to.equal('no-store')
    expect(lines(setup, 'backchannel-logout')[0]?.fields).to.deep.equal({ subject: 'u-1001', sessions: 0 })
  })

  it('leaves a login alone that began before it, and whose person authenticated at the IdP after it', async () => {
    const setup = await start({}, { require_auth_time: true })
    const [waiting, early] = [setup.browser(), setup.browser()]
    const page = await waiting.get(`${setup.host.url}auth-oidc`)
    const answer = await answerFromIdp(early, setup.host.url, 'alice')
    expect((await send(setup, await setup.idp.sign(claimsFor(setup)))).status).to.equal(200)
    // Times in tokens are in whole seconds, and in doubt a login is one from before.
    await setup.clock.advance(3_000)
    setup.idp.setClockAhead(3_000)
    await waiting.submit(page.forms[0]!, { username: 'alice', password: 'alice-demo' })
    expect(await isSignedIn(setup, waiting)).to.equal(true)

    setup.idp.setClockAhead(0)
    expect((await early.step(answer)).headers.location).to.equal('/login?failure=provider_refused')
    expect(await isSignedIn(setup, early)).to.equal(false)
  })

  it('ends a login that is under way, with a message for the person and a line in the log', async () => {
    const setup = await start()
    const person = setup.browser()
    const answer = await answerFromIdp(person, setup.host.url, 'alice')
    expect((await send(setup, await setup.idp.sign(claimsFor(setup)))).status).to.equal(200)

    expect((await person.step(answer)).headers.location).to.equal('/login?failure=provider_refused')
    expect(await isSignedIn(setup, person)).to.equal(false)
    expect(lines(setup, 'login-failed')[0]?.fields).to.include({ code: 'session_ended', user: '~oidc:u-1001' })
    expect(lines(setup, 'login')).to.deep.equal([])
  })

  it('does not work a second later with a key that the IdP has withdrawn', async () => {
    const setup = await start()
    const person = await signedIn(setup)
    expect((await send(setup, await setup.idp.sign(claimsFor(setup, { sub: 'nobody' })))).status).to.equal(200)
    await setup.idp.rotateKeys({ withdraw: true })
    await setup.clock.advance(1_000)
    const answer = send(setup, await setup.idp.sign(claimsFor(setup), undefined, 'previous'))
    // For a key that is not there is looked once more.
    await setup.clock.pass(1_000)
    expect((await answer).status).to.equal(400)
    expect(await isSignedIn(setup, person)).to.equal(true)
  })

  it('works while the IdP gives no keys before it is answered, by those that a login was judged by', async () => {
    const setup = await start()
    const person = await signedIn(setup)
    setup.idp.faults.set('jwks', { kind: 'hang' })
    const asked = setup.idp.requests('jwks')
    // At first they are fresh, and nobody is asked.
    expect((await send(setup, await setup.idp.sign(claimsFor(setup, { sub: 'nobody' })))).status).to.equal(200)
    expect(setup.idp.requests('jwks')).to.equal(asked)
    await setup.clock.advance(1_000)
    const answer = send(setup, await setup.idp.sign(claimsFor(setup)))
    while (setup.idp.requests('jwks') === asked) await new Promise(setImmediate)
    await setup.clock.pass(2_000)
    expect((await answer).status).to.equal(200)
    expect(await isSignedIn(setup, person)).to.equal(false)
  })

  it('works with a key that has just been rotated in', async () => {
    const setup = await start()
    const person = await signedIn(setup)
    expect((await send(setup, await setup.idp.sign(claimsFor(setup, { sub: 'nobody' })))).status).to.equal(200)
    await setup.idp.rotateKeys()
    const answer = send(setup, await setup.idp.sign(claimsFor(setup)))
    await setup.clock.pass(1_000)
    expect((await answer).status).to.equal(200)
    expect(await isSignedIn(setup, person)).to.equal(false)
  })

  it('works without a key id where the IdP publishes several keys', async () => {
    const setup = await start()
    await setup.idp.rotateKeys()
    const person = await signedIn(setup)
    const token = await setup.idp.sign(claimsFor(setup), { alg: 'RS256', kid: undefined }, 'previous')
    expect((await send(setup, token)).status).to.equal(200)
    expect(await isSignedIn(setup, person)).to.equal(false)
  })

  for (const alg of ['ES256', 'PS256', 'EdDSA', 'HS256']) {
    it(`works with logout tokens and ID tokens that are signed by ${alg}`, async () => {
      const members = { id_token_signed_response_alg: alg }
      const setup = await start({ client: members, registered: members })
      const person = await signedIn(setup)
      await logOutAtIdp(setup, person)
      expect(await isSignedIn(setup, person)).to.equal(false)
    })
  }

  it('ends sessions that were begun before this server was started anew, for good', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'backchannel-logout-'))
    open.push({ close: () => rm(folder, { recursive: true }) })
    const setup = await setUp()
    open.push(setup)
    // Both outlive the server: accounts in a file, sessions in what stands for a database.
    const sessionStore = new MemoryStore()
    const startAnew = async (port: number) => {
      const host = await startHost({
        config: (at: number) => ({
          settings: {
            cert: '127.0.0.1',
            sessionKey: 'a key that outlives the process',
            sqlite3: join(folder, 'host.sqlite'),
          },
          domains: {
            '': {
              authStrategies: {
                oidc: {
                  issuer: setup.idp.issuer,
                  newAccounts: true,
                  client: { ...CLIENT, redirect_uri: `http://127.0.0.1:${at}/auth-oidc-callback` },
                },
              },
            },
          },
        }),
        port,
        sessionStore,
        output: { write: () => undefined },
        authLog: () => undefined,
      })
      open.push(host)
      return { ...setup, host }
    }
    const first = await startAnew(0)
    await setup.idp.addClient({ ...CLIENT, redirect_uris: [`${first.host.url}auth-oidc-callback`] })
    const [alice, bob] = [await signedIn(first), await signedIn(first, 'bob')]
    await first.host.close()

    const second = await startAnew(first.host.port)
    expect(await isSignedIn(second, alice)).to.equal(true)
    expect((await send(second, await setup.idp.sign(claimsFor(setup)))).status).to.equal(200)
    expect(await isSignedIn(second, alice)).to.equal(false)
    await second.host.close()

    const third = await startAnew(first.host.port)
    expect(await isSignedIn(third, alice)).to.equal(false)
    expect(await isSignedIn(third, bob)).to.equal(true)
  })

  it('is opened with the client secret where ID tokens are encrypted so, and refused when it is not encrypted', async () => {
    const members = { id_token_encrypted_response_alg: 'A256KW', id_token_encrypted_response_enc: 'A128GCM' }
    const setup = await start({ client: members, registered: members })
    const person = await signedIn(setup)
    expect((await send(setup, await setup.idp.sign(claimsFor(setup)))).status).to.equal(400)
    expect((await send(setup, 'eyJhbGciOiJBMjU2S1ciLCJlbmMiOiJBMTI4R0NNIn0.AA.AA.AA.AA')).status).to.equal(400)
    expect(lines(setup, 'backchannel-logout-refused').map(({ fields }) => fields.code)).to.deep.equal([
      'logout_token_invalid',
      'logout_token_invalid',
    ])
    expect(await isSignedIn(setup, person)).to.equal(true)
    await logOutAtIdp(setup, person)
    expect(await isSignedIn(setup, person)).to.equal(false)
  })

  describe('is refused, and ends nothing,', () => {
    let setup: Setup
    let person: ScriptedBrowser
    beforeEach(async () => {
      setup = await start()
      person = await signedIn(setup)
    })

    /** Refused with 400, one line that says why, and not a word of it to the sender. */
    async function expectRefusal(token: string, reason: RegExp | string) {
      const before = lines(setup, 'backchannel-logout-refused').length
      const { status, headers, body } = await send(setup, token)
      expect(status).to.equal(400)
      expect(headers.get('cache-control')).to.equal('no-store')
      expect(headers.get('content-type')).to.match(/^application\/json/)
      expect(body).to.deep.equal({
        error: 'invalid_request',
        error_description: 'The logout token was not accepted.',
      })
      const [line, ...more] = lines(setup, 'backchannel-logout-refused').slice(before)
      expect(more).to.deep.equal([])
      expect(line?.fields.code).to.equal('logout_token_invalid')
      expect(line?.fields.reason).to.match(typeof reason === 'string' ? new RegExp(reason) : reason)
      expect(await isSignedIn(setup, person), 'still signed in').to.equal(true)
    }

    it('a token of another client, or of another issuer at the same server', async () => {
      const { iss } = claimsFor(setup)
      await expectRefusal(await setup.idp.sign(claimsFor(setup, { aud: 'other' })), 'aud names another client')
      for (const foreign of [`${iss}/other`, `${iss}/`]) {
        const token = await setup.idp.sign(claimsFor(setup, { iss: foreign }))
        await expectRefusal(token, `iss names another IdP: "${foreign}" came, "${iss}"`)
      }
    })

    it('a token that somebody else signed, under a key id of the IdP and under none', async () => {
      const other = await start()
      const keys = JSON.parse((await person.step(`${setup.idp.issuer}/jwks`)).body).keys
      for (const kid of [keys[0].kid, undefined]) {
        await expectRefusal(await other.idp.sign(claimsFor(setup), { alg: 'RS256', kid }), 'signature')
      }
      const refused = expectRefusal(await other.idp.sign(claimsFor(setup)), 'no applicable key')
      await setup.clock.pass(1_000)
      await refused
    })

    it('a token that somebody else signed, without a key id, where any of several keys may have signed', async () => {
      const other = await start()
      await setup.idp.rotateKeys()
      await expectRefusal(
        await other.idp.sign(claimsFor(setup), { alg: 'RS256', kid: undefined }),
        'multiple|signature',
      )
    })

    it('a token whose claims were changed after it was signed', async () => {
      const [header, , signature] = (await setup.idp.sign(claimsFor(setup, { sub: 'u-1002' }))).split('.')
      const claims = Buffer.from(JSON.stringify(claimsFor(setup))).toString('base64url')
      await expectRefusal(`${header}.${claims}.${signature}`, 'signature')
    })

    it('an unsigned token, in every spelling of none', async () => {
      const claims = Buffer.from(JSON.stringify(claimsFor(setup))).toString('base64url')
      for (const alg of ['none', 'None', 'NONE', '', undefined]) {
        const header = Buffer.from(JSON.stringify({ alg })).toString('base64url')
        for (const signature of ['', 'x']) {
          await expectRefusal(
            `${header}.${claims}.${signature}`,
            alg === undefined ? /no signed JWT|signed with/ : 'signed with',
          )
        }
      }
    })

    it('a token signed with HS256, by a public key or by the client secret', async () => {
      const jwks = JSON.parse((await person.step(`${setup.idp.issuer}/jwks`)).body)
      for (const secret of [JSON.stringify(jwks.keys[0]), jwks.keys[0].n, CLIENT.client_secret]) {
        const token = await new SignJWT(claimsFor(setup))
          .setProtectedHeader({ alg: 'HS256', kid: jwks.keys[0].kid, typ: 'logout+jwt' })
          .sign(new TextEncoder().encode(secret))
        await expectRefusal(token, 'not signed with RS256')
      }
    })

    it('a token of the IdP by another algorithm than the client has', async () => {
      await expectRefusal(await setup.idp.sign(claimsFor(setup), { alg: 'ES256' }), 'not signed with RS256')
    })

    it('an ID token', async () => {
      const seen = withIdTokens(setup)
      await signedIn(setup, 'bob')
      await expectRefusal(seen.tokens.at(-1)!, 'events')
    })

    it('an ID token that was made to look like a logout token', async () => {
      const seen = withIdTokens(setup)
      await signedIn(setup, 'bob')
      const token = await setup.idp.sign({ ...claimsFor(setup), ...seen.lastClaims(), events: EVENTS })
      await expectRefusal(token, 'nonce')
    })

    it('an encrypted token where ID tokens are not', async () => {
      await expectRefusal('a.b.c.d.e', 'no signed JWT')
    })

    it('what is no token', async () => {
      for (const token of [
        '',
        'x',
        'a.b.c',
        '..',
        '{}',
        '😀.😀.😀',
        `${'.'.repeat(5000)}`,
        'eyJhbGciOiJSUzI1NiJ9.W10.x',
      ]) {
        await expectRefusal(token, token === '' ? 'no logout_token' : /no signed JWT|kind|signed with/)
      }
    })

    it('a token that was used before', async () => {
      const token = await setup.idp.sign(claimsFor(setup, { sub: 'u-1002' }))
      expect((await send(setup, token)).status).to.equal(200)
      const asked = setup.idp.requests('jwks')
      await expectRefusal(token, 'used before')
      expect(setup.idp.requests('jwks')).to.equal(asked)
    })

    it('a request that is no form with one token in it, or too large', async () => {
      const token = await setup.idp.sign(claimsFor(setup))
      const form = new URLSearchParams({ logout_token: token }).toString()
      const requests: [string, string][] = [
        [JSON.stringify({ logout_token: token }), 'application/json'],
        [form, 'text/plain'],
        [form, 'application/x-www-form-urlencoded; charset=nonsense'],
        [`${form}&${form}`, 'application/x-www-form-urlencoded'],
        [`logout_token[sub]=x`, 'application/x-www-form-urlencoded'],
        [`${form}&pad=${'x'.repeat(16 * 1024)}`, 'application/x-www-form-urlencoded'],
        [`${form}${'&a=b'.repeat(100)}`, 'application/x-www-form-urlencoded'],
        ['x'.repeat(5_000_000), 'application/x-www-form-urlencoded'],
      ]
      for (const [body, type] of requests) {
        const { status, headers, body: answer } = await post(setup, body, type)
        expect(status, type).to.equal(400)
        expect(answer.error).to.equal('invalid_request')
        expect(headers.get('cache-control')).to.equal('no-store')
      }
      expect(lines(setup, 'backchannel-logout-refused')).to.have.length(requests.length)
      expect(await isSignedIn(setup, person)).to.equal(true)
      // What the IdP sends beside the token is none of our business.
      expect((await post(setup, new URLSearchParams({ logout_token: token, more: 'x' }))).status).to.equal(200)
    })

    it('a compressed request', async () => {
      const answer = await fetch(`${setup.host.url}${PATH}`, {
        method: 'POST',
        body: gzipSync(new URLSearchParams({ logout_token: await setup.idp.sign(claimsFor(setup)) }).toString()),
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-encoding': 'gzip' },
      })
      expect(answer.status).to.equal(400)
    })
  })

  it('is not served by GET', async () => {
    const setup = await start()
    const token = await setup.idp.sign(claimsFor(setup))
    expect((await fetch(`${setup.host.url}${PATH}?logout_token=${token}`)).status).to.equal(404)
  })

  it('asks the IdP for its keys once a second at most while junk pours in, and serves a genuine token in its midst', async () => {
    const setup = await start()
    const person = await signedIn(setup)
    const other = await start()
    const junk = await Promise.all(
      Array.from({ length: 100 }, () => other.idp.sign(claimsFor(setup), { alg: 'RS256', kid: undefined })),
    )
    const asked = setup.idp.requests('jwks')
    for (let at = 0; at < junk.length; at += 10) {
      const answers = await Promise.all(junk.slice(at, at + 10).map((token) => send(setup, token)))
      for (const { status } of answers) expect(status).to.equal(400)
      if (at % 50 === 40) await setup.clock.advance(1_000)
    }
    // Those of the login were fresh at first; then a second has passed.
    expect(setup.idp.requests('jwks') - asked).to.equal(1)

    expect((await send(setup, await setup.idp.sign(claimsFor(setup)))).status).to.equal(200)
    expect(await isSignedIn(setup, person)).to.equal(false)
  })

  it('asks for no keys for a token that is wrong by itself', async () => {
    const setup = await start()
    const asked = setup.idp.requests('jwks')
    for (const change of [
      { aud: 'other' },
      { iss: 'https://evil.test' },
      { events: {} },
      { exp: nowS() - 1 },
      { nonce: 'n' },
    ]) {
      expect((await send(setup, await setup.idp.sign(claimsFor(setup, change)))).status).to.equal(400)
    }
    expect(setup.idp.requests('jwks')).to.equal(asked)
  })

  it('that cannot be checked now is answered so that the IdP tries again, and the same token counts then', async () => {
    const setup = await start()
    const person = await signedIn(setup)
    const token = await setup.idp.sign(claimsFor(setup))
    setup.idp.faults.set('jwks', { kind: 'answer', status: 500, body: 'no keys today' })
    await setup.clock.advance(1_000)
    const { status, body } = await send(setup, token)
    expect(status).to.equal(400)
    expect(body).to.deep.equal({
      error: 'server_error',
      error_description: 'The logout could not be carried out. Please try again.',
    })
    expect(lines(setup, 'backchannel-logout-refused')[0]?.fields).to.include({
      code: 'provider_unreachable',
      endpoint: 'jwks_uri',
    })
    expect(await isSignedIn(setup, person)).to.equal(true)
    setup.idp.faults.clear()
    const again = send(setup, token)
    await setup.clock.pass(1_000)
    expect((await again).status).to.equal(200)
    expect(await isSignedIn(setup, person)).to.equal(false)
  })

  it('that the session store cannot carry out is answered so that the IdP tries again, and the same token counts then', async () => {
    class MoodyStore extends MemoryStore {
      failing = false
      override all(done: Parameters<MemoryStore['all']>[0]) {
        if (this.failing) done(new Error('the disk is full'))
        else super.all(done)
      }
    }
    const sessionStore = new MoodyStore()
    type Entry = Setup['authLog'][number]
    const authLog: Entry[] = []
    const output = { write: () => undefined }
    const used = new Set<string>()
    const revocations: RevocationStore = {
      ...memoryRevocations(),
      once: async (key) => !used.has(key) && used.add(key) !== undefined,
      release: async (key) => {
        used.delete(key)
      },
    }
    const host = { sessionStore, revocations, authLog: (entry: Entry) => authLog.push(entry), output }
    const setup = await start({ host })
    const person = await signedIn(setup)
    const token = await setup.idp.sign(claimsFor(setup))
    sessionStore.failing = true
    expect((await send(setup, token)).body).to.include({ error: 'server_error' })
    const refused = authLog.filter(({ event }) => event === 'backchannel-logout-refused')
    expect(refused.map(({ level, fields }) => [level, fields.code])).to.deep.equal([['error', 'host_failed']])
    // Not one moment longer: the revocation came before the store was asked.
    expect(await isSignedIn(setup, person)).to.equal(false)
    sessionStore.failing = false
    expect((await send(setup, token)).status).to.equal(200)
  })

  it('is carried out once where its token comes several times at once', async () => {
    const setup = await start()
    const person = await signedIn(setup)
    const token = await setup.idp.sign(claimsFor(setup))
    const answers = await Promise.all([send(setup, token), send(setup, token), send(setup, token)])
    expect(answers.map(({ status }) => status).toSorted()).to.deep.equal([200, 400, 400])
    expect(lines(setup, 'backchannel-logout').map(({ fields }) => fields.sessions)).to.deep.equal([1])
    expect(await isSignedIn(setup, person)).to.equal(false)
    expect((await send(setup, token)).status).to.equal(400)
  })

  it('that fails only after the IdP has sent its token again is answered so that it tries once more, and counts then', async () => {
    class HeldStore extends MemoryStore {
      readonly held: (() => void)[] = []
      state: 'well' | 'held' | 'failing' = 'well'
      override all(done: Parameters<MemoryStore['all']>[0]) {
        const fail = () => done(new Error('the disk is full'))
        if (this.state === 'held') this.held.push(fail)
        else if (this.state === 'failing') fail()
        else super.all(done)
      }
    }
    const sessionStore = new HeldStore()
    const setup = await start({
      host: { sessionStore, authLog: () => undefined, output: { write: () => undefined } },
    })
    const person = await signedIn(setup)
    const token = await setup.idp.sign(claimsFor(setup))
    sessionStore.state = 'held'
    const first = send(setup, token)
    while (sessionStore.held.length === 0) await new Promise(setImmediate)
    const again = send(setup, token)
    // It is judged while this is answered, or comes later and fails by itself.
    for (let at = 0; at < 5; at += 1) await fetch(`${setup.host.url}login`)
    sessionStore.state = 'failing'
    for (const fail of sessionStore.held) fail()
    for (const { body } of [await first, await again]) expect(body).to.include({ error: 'server_error' })
    sessionStore.state = 'well'
    expect((await send(setup, token)).status).to.equal(200)
    expect(await isSignedIn(setup, person)).to.equal(false)
  })

  it('of one domain is refused at another, and ends sessions of its own domain only', async () => {
    const oidc = { newAccounts: true }
    const setup = await setUp()
    open.push(setup)
    const client = (id: string, port: number, host: string) => ({
      client_id: id,
      client_secret: CLIENT.client_secret,
      redirect_uri: `http://${host}:${port}/auth-oidc-callback`,
    })
    const host = await startHost({
      config: (port: number) => ({
        settings: { cert: '127.0.0.1', port },
        domains: {
          '': {
            authStrategies: { oidc: { ...oidc, issuer: setup.idp.issuer, client: client('mesh', port, '127.0.0.1') } },
          },
          customer: {
            dns: 'localhost',
            authStrategies: { oidc: { ...oidc, issuer: setup.idp.issuer, client: client('other', port, 'localhost') } },
          },
          broken: { dns: 'broken.test', authStrategies: { oidc: { issuer: 7 } } },
        },
      }),
      output: { write: () => undefined },
      authLog: () => undefined,
    })
    open.push(host)
    const elsewhere = `http://localhost:${host.port}/`
    await setup.idp.addClient({ ...CLIENT, redirect_uris: [`${host.url}auth-oidc-callback`] })
    await setup.idp.addClient({ ...CLIENT, client_id: 'other', redirect_uris: [`${elsewhere}auth-oidc-callback`] })
    const person = setup.browser()
    await person.login(host.url, 'alice', 'alice-demo')
    const customer = setup.browser()
    await customer.login(elsewhere, 'alice', 'alice-demo')

    const at = (url: string) => ({ host: { ...host, url } })
    const own = await setup.idp.sign(claimsFor(setup, { aud: 'mesh' }))
    expect((await send(at(elsewhere), own)).status).to.equal(400)
    expect((await whoAmI(customer, elsewhere)).status).to.equal(200)
    expect((await send(at(host.url), own)).status).to.equal(200)
    expect((await whoAmI(person, host.url)).status).to.equal(401)
    expect((await whoAmI(customer, elsewhere)).status).to.equal(200)
    const both = await setup.idp.sign(claimsFor(setup, { aud: ['mesh', 'other'] }))
    expect((await send(at(elsewhere), both)).status).to.equal(200)
    expect((await whoAmI(customer, elsewhere)).status).to.equal(401)
  })

  it('is no login: a logout token in place of an ID token is refused', async () => {
    for (const client of [{}, { response_types: 'id_token' }]) {
      const registered = client.response_types ? { response_types: ['id_token'], grant_types: ['implicit'] } : {}
      const setup = await start({ client, registered })
      setup.idp.forgeTokens(() => setup.idp.sign(claimsFor(setup, { sid: 's' }), { alg: 'RS256', typ: 'logout+jwt' }))
      const person = setup.browser()
      const page = await person.login(setup.host.url, 'alice', 'alice-demo')
      expect(page.url).to.match(/\/login\?failure=login_failed$/)
      expect(await isSignedIn(setup, person)).to.equal(false)
      expect(lines(setup, 'login-failed')[0]?.fields.code).to.equal('id_token_invalid')
    }
  })

  it('leaves neither token nor session id in any log', async () => {
    const setup = await start()
    const seen = withIdTokens(setup)
    await signedIn(setup)
    const { sid } = seen.lastClaims()
    const token = await setup.idp.sign(claimsFor(setup, { sid }))
    await send(setup, token)
    await send(setup, token)
    const everything = JSON.stringify([setup.authLog, setup.output])
    for (const secret of [token, token.split('.')[2]!, sid]) expect(everything).to.not.include(secret)
  })
})
