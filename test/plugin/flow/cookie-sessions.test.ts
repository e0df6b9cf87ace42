import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect } from 'chai'
import cookieSession from 'cookie-session'
import express from 'express'
import { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { recordsInMemory } from '../../../fixtures/host/accounts-memory.ts'
import { type Database, openDatabase } from '../../../fixtures/host/database.ts'
import { type Idp, startIdp } from '../../../fixtures/idp/server.ts'
import { cookieSessions, createLog, type RevocationStore, registerOidc } from '../../../plugin/index.ts'
import { answerFromIdp } from '../../support/sign-in-setup.ts'

const SECRET = 'a secret of the server with more than 32 characters'
const CLIENT = { client_id: 'mesh', client_secret: 'a-client-secret-of-the-tests' }

/** What a host would write: one table, two statements. */
async function openRevocations(database: Database): Promise<RevocationStore> {
  await database.exec(
    'CREATE TABLE IF NOT EXISTS revocations (key TEXT PRIMARY KEY, ended_at INTEGER NOT NULL, until INTEGER NOT NULL)',
  )
  return {
    async revoke(keys, endedAt, until) {
      for (const key of keys) {
        await database.run(
          `INSERT INTO revocations VALUES (?, ?, ?)
           ON CONFLICT (key) DO UPDATE SET ended_at = max(ended_at, excluded.ended_at), until = max(until, excluded.until)`,
          key,
          endedAt,
          until,
        )
      }
    },
    async endedAt(keys) {
      const places = keys.map(() => '?').join()
      const [row] = await database.all<{ latest: number | null }>(
        `SELECT max(ended_at) AS latest FROM revocations WHERE key IN (${places})`,
        ...keys,
      )
      return row?.latest ?? undefined
    },
  }
}

describe('a host with cookie sessions', () => {
  const closers: (() => Promise<unknown>)[] = []
  let idp: Idp
  let folder: string
  let url: string
  const records = recordsInMemory()

  /** The same server each time: same address, same secrets, same database file. */
  async function serve(port = 0, members: object = {}): Promise<() => Promise<void>> {
    const database = await openDatabase(join(folder, 'host.sqlite'))
    const sessions = cookieSessions({ revocations: await openRevocations(database) })
    const app = express()
    app.use(express.json(), cookieSession({ name: 'session', keys: [SECRET], httpOnly: true, sameSite: 'lax' }))
    const server = app.listen(port, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (typeof address !== 'object' || !address) throw new Error('no address')
    url = `http://127.0.0.1:${address.port}/`
    const client = { ...CLIENT, redirect_uri: `${url}auth-oidc-callback`, post_logout_redirect_uri: `${url}login` }
    const oidc = await registerOidc(app, {
      config: {
        settings: { cert: '127.0.0.1' },
        domains: {
          '': { authStrategies: { oidc: { issuer: idp.issuer, newAccounts: true, client, ...members } } },
        },
      },
      host: {
        ...records,
        sessions,
        loginPage: { showFailure: (_req, res, _domain, { code }) => res.redirect(302, `/login?failure=${code}`) },
        authLog: () => undefined,
        secret: SECRET,
      },
      presets: { azure: { login: new URL(idp.issuer).origin } },
      log: createLog('plugin', { write: () => undefined }),
    })
    app.get('/login', (_req, res) => void res.send('<a href="/auth-oidc">Sign in</a>'))
    app.get('/', async (req, res) => void res.json({ user: (await sessions.current(req))?.userId ?? null }))
    app.get('/state', async (req, res) => void res.json({ state: await oidc.introspect(req) }))
    await idp.addClient({
      ...CLIENT,
      redirect_uris: [client.redirect_uri],
      post_logout_redirect_uris: [`${url}login`],
      backchannel_logout_uri: `${url}auth-oidc-backchannel-logout`,
      backchannel_logout_session_required: true,
    })
    let closing: Promise<void> | undefined
    const close = () => {
      closing ??= (async () => {
        const closed = once(server, 'close')
        server.close()
        server.closeAllConnections()
        await closed
        await oidc.close()
        await database.close()
      })()
      return closing
    }
    closers.push(close)
    return close
  }

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'cookie-sessions-'))
    closers.push(() => rm(folder, { recursive: true }))
    idp = await startIdp()
    closers.push(() => idp.close())
  })
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close()
  })
  after(() => records.close())

  const signedIn = async (name: string) => {
    const person = new ScriptedBrowser()
    closers.push(async () => person.close())
    await person.login(url, name, `${name}-demo`)
    return person
  }
  const user = async (person: ScriptedBrowser) => JSON.parse((await person.step(url)).body).user as string | null

  it('asks for no refresh tokens with the preset azure, since it would keep none', async () => {
    await idp.close()
    idp = await startIdp({ path: '/tenant/v2.0' })
    await serve(0, { issuer: undefined, custom: { preset: 'azure', tenant_id: 'tenant' } })
    const person = new ScriptedBrowser()
    closers.push(async () => person.close())
    const { headers } = await person.step(`${url}auth-oidc`)
    expect(new URL(headers.location ?? '').searchParams.get('scope')).to.equal('openid profile email')
  })

  it('leads an answer that comes again to where it led, while that session lasts', async () => {
    await serve()
    const person = new ScriptedBrowser()
    closers.push(async () => person.close())
    const answer = await answerFromIdp(person, url, 'alice', 'auth-oidc?return=/state')
    for (let times = 0; times < 2; times += 1) {
      expect((await person.step(answer)).headers.location).to.equal('/state')
    }
    await person.step(`${url}logout`)
    expect((await person.step(answer)).headers.location).to.equal('/login?failure=login_expired')
  })

  it('signs people in, and out at the IdP, which is told whose session that is', async () => {
    await serve()
    const person = await signedIn('alice')
    expect(await user(person)).to.equal('~oidc:u-1001')
    const copy = new ScriptedBrowser()
    closers.push(async () => copy.close())
    for (const { name, value } of person.cookies.matching(new URL(url))) copy.cookies.plant(new URL(url), name, value)
    const { headers } = await person.step(`${url}logout`)
    const { searchParams } = new URL(headers.location!)
    expect(searchParams.get('logout_hint')).to.be.a('string')
    expect(searchParams.has('id_token_hint')).to.equal(false)
    expect(await user(person)).to.equal(null)
    expect(await user(copy)).to.equal(null)
  })

  it('ends the sessions of somebody whom a login refuses for groups.required', async () => {
    await serve(0, { groups: { required: 'mesh-users' } })
    const [bob, elsewhere, alice] = [await signedIn('bob'), await signedIn('bob'), await signedIn('alice')]
    expect([await user(elsewhere), await user(alice)]).to.deep.equal(['~oidc:u-1002', '~oidc:u-1001'])
    idp.setUser({ username: 'bob', password: 'bob-demo', sub: 'u-1002', claims: { name: 'Bob', groups: [] } })
    await signedIn('bob')
    expect([await user(bob), await user(elsewhere), await user(alice)]).to.deep.equal([null, null, '~oidc:u-1001'])
  })

  it('ends sessions that the IdP ended, for good', async () => {
    const close = await serve()
    const [alice, elsewhere, bob] = [await signedIn('alice'), await signedIn('alice'), await signedIn('bob')]
    const page = await alice.get(`${idp.issuer}/session/end`)
    await alice.submit(page.forms[0]!, {}, 'Yes, sign me out')
    expect([await user(alice), await user(elsewhere), await user(bob)]).to.deep.equal([
      null,
      '~oidc:u-1001',
      '~oidc:u-1002',
    ])
    await close()
    await serve(Number(new URL(url).port))
    expect([await user(alice), await user(elsewhere), await user(bob)]).to.deep.equal([
      null,
      '~oidc:u-1001',
      '~oidc:u-1002',
    ])
    const now = Math.floor(Date.now() / 1000)
    const token = await idp.sign({
      iss: idp.issuer,
      aud: 'mesh',
      sub: 'u-1001',
      iat: now,
      exp: now + 60,
      jti: randomUUID(),
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    })
    const send = async (body: string | URLSearchParams, headers: Record<string, string> = {}) =>
      (await fetch(`${url}auth-oidc-backchannel-logout`, { method: 'POST', body, headers })).status
    // The protocol knows forms only, whatever else this server reads.
    const script = { 'content-type': 'application/json' }
    expect(await send(JSON.stringify({ logout_token: token }), script)).to.equal(400)
    expect(await send(new URLSearchParams({ logout_token: token }))).to.equal(200)
    expect([await user(elsewhere), await user(bob)]).to.deep.equal([null, '~oidc:u-1002'])
  })

  it('cannot ask the IdP about a session: it keeps no token for that', async () => {
    await serve()
    const person = await signedIn('alice')
    expect(JSON.parse((await person.step(`${url}state`)).body)).to.deep.equal({ state: 'unknown' })
    expect(idp.requests('introspection')).to.equal(0)
  })
})
