import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { Agent, request } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { type AprsIsServer, startAprsIs } from '../../fixtures/aprsis/server.ts'
import { makeCertificates } from '../../fixtures/certificate.ts'
import { freshDatabase, runAt } from '../sidecar/store/postgres/shared-server.ts'
import { readDocument } from '../support/documents.ts'
import { freePort } from '../support/host-process.ts'
import { siteOnPage } from '../support/proxies/page-site.ts'
import { PROXIES, type ProxyName, type RunningProxy, startProxy } from '../support/proxies/start-proxy.ts'
import { registration } from '../support/running-api.ts'
import { createSidecarFolder, type SidecarProcess, startSidecarProcess } from '../support/sidecar-process.ts'
import { startTcpRelay } from '../support/tcp-relay.ts'
import { TYPESCRIPT } from '../support/typescript/options.ts'

const run = promisify(execFile)
const PAGE = readDocument('sidecar/docs/behind-a-proxy.md')
const LISTEN = (JSON.parse(siteOnPage(PAGE, 'json', {})) as { listen: object }).listen
const LANGUAGES = { nginx: 'nginx', Apache: 'apache', Caddy: 'caddyfile', HAProxy: 'haproxy' } as const
/** More requests than two sidecars accept from one client: each accepts 120 a minute. */
const FLOOD = 400
const OTHERS = 6
const CALLS = 25

describe('A proxy in front of sidecars', function () {
  this.timeout(300_000)

  let folder = ''
  let port = 0
  let upstream: AprsIsServer
  const closing: (() => unknown)[] = []
  let proxy: RunningProxy | undefined

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mesh-companion-proxies-'))
    const { ca, server } = await makeCertificates()
    await writeFile(join(folder, 'ca.pem'), ca.cert)
    await writeFile(join(folder, 'chain.pem'), server.cert)
    await writeFile(join(folder, 'key.pem'), server.key)
    await writeFile(join(folder, 'all.pem'), `${server.cert}\n${server.key}`)
    port = await freePort()
    upstream = await startAprsIs()
  })
  afterEach(async () => {
    await proxy?.stop()
    proxy = undefined
    for (const close of closing.splice(0).reverse()) await close()
  })
  after(async () => {
    await upstream.close()
    await rm(folder, { recursive: true, force: true })
  })

  /**
   * Returns a client with its own address in 127.0.0.0/8. Its requests resolve with the status, or with the code of the
   * connection error.
   */
  function caller(localAddress: string) {
    const agent = new Agent({ keepAlive: true, maxSockets: 4, localAddress, rejectUnauthorized: false })
    closing.push(() => agent.destroy())
    return (path: string, body: object, more: Readonly<Record<string, string>> = {}) =>
      new Promise<number | string>((resolve) => {
        const fail = (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message)
        const headers = { 'Content-Type': 'application/json', ...more }
        request(`https://localhost:${port}${path}`, { agent, method: 'POST', headers, family: 4 }, (answer) => {
          answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
          answer.once('error', fail)
        })
          .once('error', fail)
          .end(JSON.stringify(body))
      })
  }

  /** Stopped after the test. */
  async function sidecar(config: object): Promise<SidecarProcess> {
    const { configure, remove } = await createSidecarFolder()
    const { host, port: upstreamPort } = upstream
    const file = await configure({
      aprsis: { host, port: upstreamPort, callsign: 'N0CALL-10' },
      database: ':memory:',
      ...config,
    })
    const started = startSidecarProcess(['--config', file])
    closing.push(remove, async () => {
      started.kill('SIGKILL')
      await started.ended
    })
    await started.url()
    return started
  }

  /** Starts the proxy. Skips the test if the proxy is not available. */
  async function start(test: Mocha.Context, name: ProxyName, site: string): Promise<void> {
    const running = await startProxy(name, site, port)
    if (typeof running === 'string') {
      process.stdout.write(`  left out: ${running}\n`)
      test.skip()
    }
    proxy = running
  }

  /** Returns the page's site for sidecars at these ports. For one sidecar, it removes the line of the second one. */
  function siteOf(name: ProxyName, [one = 0, two]: readonly number[]): string {
    const files = {
      '/etc/ssl/push/fullchain.pem': join(folder, 'chain.pem'),
      '/etc/ssl/push/privkey.pem': join(folder, 'key.pem'),
    }
    const places: Readonly<Record<ProxyName, Readonly<Record<string, string>>>> = {
      nginx: { ...files, 'listen 443': `listen 127.0.0.1:${port}` },
      Apache: { ...files, '<VirtualHost *:443>': `Listen 127.0.0.1:${port}\n<VirtualHost *:${port}>` },
      Caddy: { ...files, 'push.example.org {': `localhost:${port} {\nbind 127.0.0.1` },
      HAProxy: { '/etc/ssl/push/all.pem': join(folder, 'all.pem'), ':443': `127.0.0.1:${port}` },
    }
    const page = siteOnPage(PAGE, LANGUAGES[name], places[name]).replace(':8080', `:${one}`)
    return two === undefined ? page.replace(/^.*:8081.*\n/m, '') : page.replace(':8081', `:${two}`)
  }

  // Shows: sidecar P1.12.
  for (const name of PROXIES)
    for (const count of [1, 2])
      it(`a flood by one client causes no errors for others: ${name}, sidecars: ${count}`, async function () {
        const sidecars = await Promise.all(
          Array.from({ length: count }, () => sidecar({ listen: { ...LISTEN, port: 0 } })),
        )
        const ports = await Promise.all(sidecars.map(async ({ url }) => Number(new URL(await url()).port)))
        await start(this, name, siteOf(name, ports))

        const flooder = caller('127.0.1.1')
        const flood = Promise.all(
          Array.from({ length: FLOOD }, (_, index) =>
            // Made-up addresses in `X-Forwarded-For` must not give the flooder the limits of other clients.
            flooder('/v1/register', registration('N1CALL'), { 'X-Forwarded-For': `203.0.113.${index % 250}` }),
          ),
        )
        const strangers = await Promise.all(
          Array.from({ length: OTHERS }, async (_, index) => {
            const stranger = caller(`127.0.2.${index + 1}`)
            const statuses: (number | string)[] = []
            for (let calls = 0; calls < CALLS; calls += 1)
              statuses.push(await stranger('/v1/register', registration(`N${index}OTH`)))
            return statuses
          }),
        )
        const flooded = await flood
        expect(strangers.flat().filter((status) => status !== 200)).to.deep.equal([])
        expect(new Set(flooded)).to.deep.equal(new Set([200, 429]))
        expect(flooded.filter((status) => status === 429).length).to.be.at.least(FLOOD - count * 120)
        const events = sidecars.flatMap(({ lines }) => lines.map(({ event }) => event))
        expect(events).to.not.include.members(['proxy-says-no-client']).and.not.include.members(['proxy-not-trusted'])
      })

  // Shows: sidecar P1.13.
  it("the sidecar's --check --live --public reports a missing trustProxy behind nginx", async function () {
    const [relayPort, url] = [await freePort(), `https://localhost:${port}`]
    const { configure, remove } = await createSidecarFolder()
    closing.push(remove)
    const { host, port: upstreamPort } = upstream
    const aprsis = { host, port: upstreamPort, callsign: 'N0CALL-10' }
    const verdict = async (trustProxy: unknown) => {
      const file = await configure({ aprsis, database: ':memory:', listen: { ...LISTEN, port: relayPort, trustProxy } })
      const command = [...TYPESCRIPT, 'sidecar/main.ts', '--config', file, '--check', '--live', '--public', url]
      const env = { ...process.env, NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') }
      const { stdout } = await run(process.execPath, command, { env }).catch((error: { stdout: string }) => error)
      return stdout.split('\n').find((line) => line.includes('Public address'))
    }
    const trust = '"listen": { "trustProxy": ["127.0.0.1"] }'
    const site = siteOf('nginx', [relayPort])
    await start(this, 'nginx', site)
    expect(await verdict(['127.0.0.1'])).to.match(/^ok /)
    expect(await verdict(false))
      .to.match(/^fail /)
      .and.include(trust)
      .and.not.include('proxy_set_header')
    await proxy?.stop()
    await start(this, 'nginx', site.replace(/^.*X-Forwarded-For.*\n/m, ''))
    expect(await verdict(['127.0.0.1']))
      .to.match(/^fail /)
      .and.include('proxy_set_header')
      .and.not.include(trust)
  })

  /** Two sidecars on one database. The second one's connection can be cut. */
  async function pair(api: readonly [number, number], admin: number, more: object = {}) {
    const database = await freshDatabase()
    const relay = await startTcpRelay(Number(new URL(database).port))
    closing.push(relay.close)
    const cut = new URL(database)
    cut.port = String(relay.port)
    for (const [instance, address, host, port] of [
      ['one', database, '127.0.3.1', api[0]],
      ['two', String(cut), '127.0.3.2', api[1]],
    ] as const)
      await sidecar({
        instance,
        database: address,
        listen: { ...LISTEN, host, port },
        admin: { host, port: admin },
        rateLimit: { max: 100_000 },
        ...more,
      })
    return { relay, database }
  }

  /** Returns the shipped configuration, which is for three instances. Only two get an address. */
  function shippedSite(api: number, admin: number): string {
    const places = [
      ['bind :443', `bind 127.0.0.1:${port}`],
      ['/etc/haproxy/certs/', join(folder, 'all.pem')],
      ['check port 9090', `check port ${admin}`],
      ['one:8080', `127.0.3.1:${api}`],
      ['two:8080', `127.0.3.2:${api}`],
    ] as const
    return places.reduce((text, [from, to]) => {
      expect(text).to.include(from)
      return text.replace(from, to)
    }, readDocument('sidecar/deploy/several/haproxy.cfg'))
  }

  /** Returns phones with different addresses: functions that send a heartbeat and resolve with its status. */
  function phones() {
    return Array.from({ length: 20 }, (_, index) => {
      const stranger = caller(`127.0.4.${index + 1}`)
      return () => stranger('/v1/register', registration(`N${index}BAL`))
    })
  }

  /** Checks that under 1 % of 2,000 requests fail when the connection is cut. */
  async function expectFewFailures(relay: { cut(): Promise<void> }): Promise<void> {
    const all = phones()
    const round = () => Promise.all(all.map((heartbeat) => heartbeat()))
    expect(new Set(await round())).to.deep.equal(new Set([200]))
    await relay.cut()
    const statuses: (number | string)[] = []
    while (statuses.length < 2000) statuses.push(...(await round()))
    const failed = statuses.filter((status) => status !== 200)
    expect(failed.length, failed.join()).to.be.below(statuses.length / 100)
  }

  // Shows: sidecar P1.12.
  it('the shipped HAProxy file removes an instance that cannot reach its database', async function () {
    // HAProxy checks all instances at one port, so each needs its own address.
    const [api, admin] = [await freePort(), await freePort()]
    const { relay } = await pair([api, api], admin)
    await start(this, 'HAProxy', shippedSite(api, admin))

    await expectFewFailures(relay)
    expect(await proxy?.output()).to.include('Server sidecars/two is DOWN')
  })

  /** Expects `status` for the requests of `refused`, and 200 for the heartbeats that phones send in between. */
  async function expectRefusedAlone(refused: () => Promise<number | string>, status: number): Promise<void> {
    const all = phones()
    for (let round = 0; round < 10; round += 1) {
      const strangers = await Promise.all(Array.from({ length: 5 }, refused))
      expect(new Set(strangers)).to.deep.equal(new Set([status]))
      expect(new Set(await Promise.all(all.map((heartbeat) => heartbeat())))).to.deep.equal(new Set([200]))
    }
  }

  // Shows: sidecar P1.12.
  for (const [name, siteFor] of [
    ['HAProxy', (api: number, admin: number) => shippedSite(api, admin)],
    ['nginx', (api: number) => siteOf('nginx', [api, api])],
  ] as const)
    it(`refused requests do not make ${name} take an instance out of service`, async function () {
      const [api, admin] = [await freePort(), await freePort()]
      const { database } = await pair([api, api], admin, { stations: { max: 21 }, rateLimit: { max: 200 } })
      const site = siteFor(api, admin)
      const proxied = name.startsWith('nginx')
        ? site.replace(`127.0.0.1:${api}`, `127.0.3.1:${api}`).replace(`127.0.0.1:${api}`, `127.0.3.2:${api}`)
        : site
      await start(this, name.startsWith('nginx') ? 'nginx' : 'HAProxy', proxied)
      const stranger = caller('127.0.5.1')
      expect(await stranger('/v1/register', registration('X1X'))).to.equal(200)
      expect(new Set(await Promise.all(phones().map((heartbeat) => heartbeat())))).to.deep.equal(new Set([200]))

      // The sidecar has its maximum number of stations.
      await expectRefusedAlone(() => stranger('/v1/register', registration('K1NEW')), 503)
      // PostgreSQL reports that it is overloaded.
      await runAt(
        database,
        `CREATE FUNCTION overloaded() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE SQLSTATE '53000'; END $$;
         CREATE TRIGGER overloaded BEFORE UPDATE ON mesh_companion.device
           FOR EACH ROW WHEN (new.push_token = 'overload') EXECUTE FUNCTION overloaded()`,
      )
      const overload = () => stranger('/v1/register', registration('X1X', { pushToken: 'overload' }))
      await expectRefusedAlone(overload, 503)
      // The client exceeds its rate limit.
      const flooder = caller('127.0.5.2')
      const flood = () => flooder('/v1/register', registration('X1X'))
      await Promise.all(Array.from({ length: 210 }, flood))
      await expectRefusedAlone(flood, 429)
    })

  it('behind nginx as documented, few requests fail if one sidecar loses its database', async function () {
    const api = [await freePort(), await freePort()] as const
    const { relay } = await pair(api, await freePort())
    const site = siteOf('nginx', api).replace(`127.0.0.1:${api[0]}`, `127.0.3.1:${api[0]}`)
    await start(this, 'nginx', site.replace(`127.0.0.1:${api[1]}`, `127.0.3.2:${api[1]}`))
    await expectFewFailures(relay)
  })
})
