import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import pg from 'pg'
import { ScriptedBrowser } from '../../fixtures/browser.ts'
import { type Idp, startIdp } from '../../fixtures/idp/server.ts'
import { codeBlocks, readDocument } from '../support/documents.ts'
import { type LoggingProcess, startLoggingProcess } from '../support/logging-process.ts'
import { type Postgres, startPostgres } from '../support/postgres.ts'
import { CLIENT } from '../support/sign-in-setup.ts'
import { until } from '../support/until.ts'
import { type Balancer, startBalancer } from './support/balancer.ts'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const [CODE = ''] = codeBlocks(readDocument('plugin/docs/several-processes.md'), 'js')

describe('Two processes of the documented example server', () => {
  let folder: string
  let postgres: Postgres
  let idp: Idp
  let balancer: Balancer
  const processes: { readonly child: LoggingProcess; readonly port: number }[] = []
  const children: LoggingProcess[] = []
  const ports = () => processes.map(({ port }) => port)
  const browsers: ScriptedBrowser[] = []

  async function start(): Promise<{ child: LoggingProcess; port: number }> {
    const secret = 'the same everywhere, 32 characters'
    const env = { DATABASE_URL: postgres.address, SESSION_SECRET: secret, PORT: '0' }
    const child = startLoggingProcess(['server.mjs'], env, folder)
    children.push(child)
    const { port } = await child.logged('listening')
    return { child, port: Number(port) }
  }

  before(async function () {
    this.timeout(120_000)
    folder = await mkdtemp(join(tmpdir(), 'several-example-'))
    postgres = await startPostgres()
    // Each refresh token works once, so a renewal ends the session if its answer is lost.
    idp = await startIdp({ rotateRefreshTokens: true })
    balancer = await startBalancer()
    const oidc = {
      issuer: idp.issuer,
      client: {
        ...CLIENT,
        redirect_uri: `${balancer.url}auth-oidc-callback`,
        post_logout_redirect_uri: `${balancer.url}login`,
      },
      newAccounts: true,
      groups: { siteadmin: 'mesh-admins', sync: true },
    }
    await idp.addClient({
      ...CLIENT,
      redirect_uris: [oidc.client.redirect_uri],
      post_logout_redirect_uris: [oidc.client.post_logout_redirect_uri],
      grant_types: ['authorization_code', 'refresh_token'],
    })
    const pool = new pg.Pool({ connectionString: postgres.address })
    await pool.query(await readFile(join(ROOT, 'node_modules/connect-pg-simple/table.sql'), 'utf8'))
    await pool.end()
    await writeFile(
      join(folder, 'config.json'),
      JSON.stringify({ settings: { cert: '127.0.0.1' }, domains: { '': { authStrategies: { oidc } } } }),
    )
    // Sessions are renewed every second, so that no test waits for five minutes.
    const code = CODE.replace('tokens: true', 'tokens: true, sessionCheckMs: 1_000')
    await writeFile(join(folder, 'server.mjs'), code.replace("'mesh-companion/plugin'", `'${ROOT}plugin/index.ts'`))
    await symlink(join(ROOT, 'node_modules'), join(folder, 'node_modules'))
    // Both start at the same time and create the missing tables.
    const [first, otherExample] = await Promise.all([start(), start()])
    processes.push(first, otherExample)
  })
  beforeEach(() => balancer.use(...ports()))
  afterEach(() => {
    for (const browser of browsers.splice(0)) browser.close()
  })
  after(async () => {
    for (const child of children) child.kill('SIGKILL')
    await balancer?.close()
    await idp?.close()
    await postgres?.stop()
    await rm(folder, { recursive: true, force: true })
  })

  const signedIn = async (username: string) => {
    const browser = new ScriptedBrowser()
    browsers.push(browser)
    await browser.login(balancer.url, username, `${username}-demo`)
    return browser
  }
  /** Returns what each process says about the user; null if it redirects to the login page. */
  const statusAtBoth = (browser: ScriptedBrowser) =>
    Promise.all(
      ports().map(async (port) => {
        const { status, body } = await browser.step(`http://127.0.0.1:${port}/`)
        return status === 200 ? JSON.parse(body) : null
      }),
    )

  it('a login or logout at one of two processes takes effect at both', async () => {
    const browser = await signedIn('alice')
    const [first, second] = await statusAtBoth(browser)
    expect(first).to.deep.include({ name: 'Alice Example', siteAdmin: true, groups: ['mesh-admins', 'mesh-users'] })
    expect(second).to.deep.equal(first)
    await browser.step(`http://127.0.0.1:${ports()[1]}/logout`)
    expect(await statusAtBoth(browser)).to.deep.equal([null, null])
  })

  it('all users stay signed in if processes are replaced during token renewals', async () => {
    const people = await Promise.all(
      Array.from({ length: 8 }, (_, index) => {
        const username = `person${index}`
        idp.setUser({ username, password: `${username}-demo`, sub: `sub-${index}`, claims: {} })
        return signedIn(username)
      }),
    )
    const everybody = async (port: number) => {
      const answers = await Promise.all(people.map((browser) => browser.step(`http://127.0.0.1:${port}/`)))
      return answers.filter(({ status }) => status === 200).length
    }
    /**
     * Uses all sessions until the IdP has had eight more token requests. One use may not suffice, because a session
     * that the other process has just renewed is not due yet.
     */
    const renewals = async (port: number) => {
      const renewals = idp.requests('token')
      await until('renewals', async () => {
        expect(await everybody(port)).to.equal(8)
        return idp.requests('token') >= renewals + 8
      })
    }
    idp.faults.set('token', { kind: 'slow', ms: 500 })
    for (const turn of [0, 1]) {
      const ending = processes[turn]!
      await renewals(ending.port)
      ending.child.kill('SIGTERM')
      expect((await ending.child.ended).outcome).to.equal(0)
      processes[turn] = await start()
    }
    idp.faults.clear('token')
    for (const port of ports()) {
      await renewals(port)
      expect(await everybody(port)).to.equal(8)
    }
  })

  it('a user stays signed in if one of two processes ends', async () => {
    const browser = await signedIn('alice')
    const [ended] = processes
    ended?.child.kill('SIGTERM')
    expect((await ended?.child.ended)?.outcome).to.equal(0)
    balancer.use(ports()[1] ?? 0)
    expect((await browser.step(balancer.url)).status).to.equal(200)
  })
})
