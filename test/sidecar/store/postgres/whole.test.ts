import { expect } from 'chai'
import { type AprsIsServer, startAprsIs } from '../../../../fixtures/aprsis/server.ts'
import { createLog, type Settings, type Sidecar, startSidecar } from '../../../../sidecar/index.ts'
import { checkStart } from '../../../../sidecar/operator/commands/check.ts'
import { claim, type JsonBody, registration } from '../../../support/running-api.ts'
import { settingsOf } from '../../../support/settings-of.ts'
import { freshDatabase } from './shared-server.ts'

const SECRET = 'h0rse-battery'

describe('Sidecars on one PostgreSQL', () => {
  let upstream: AprsIsServer
  let address: string
  const lines: string[] = []
  const log = createLog('debug', { write: (line) => void lines.push(line) })
  const running: Sidecar[] = []

  before(async function () {
    this.timeout(120_000)
    const url = new URL(await freshDatabase())
    // The server asks for none.
    url.password = SECRET
    address = url.href
    upstream = await startAprsIs()
  })
  after(() => upstream.close())
  afterEach(async () => {
    for (const sidecar of running.splice(0)) await sidecar.close()
  })

  function settings(members: object = {}): Settings {
    const { host, port } = upstream
    return settingsOf({
      listen: { port: 0 },
      admin: { port: 0 },
      aprsis: { callsign: 'N0CALL', host, port },
      database: address,
      rateLimit: { newStationsPerHour: 1000 },
      ...members,
    })
  }

  async function start(instance: string): Promise<Sidecar> {
    const sidecar = await startSidecar(settings({ instance }), log)
    running.push(sidecar)
    return sidecar
  }

  async function post(sidecar: Sidecar, path: string, body: object): Promise<{ status: number; body: JsonBody }> {
    const answer = await fetch(sidecar.url + path, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
      body: JSON.stringify(body),
    })
    return { status: answer.status, body: (await answer.json()) as JsonBody }
  }

  it('know a station at once that registers at one of them, and none that unregisters there', async () => {
    const [a, b] = [await start('a'), await start('b')]
    for (let index = 0; index < 20; index += 1) {
      const callsign = `K${index}AB`
      expect((await post(a, '/v1/register', registration(callsign))).status).to.equal(200)
      const asked = await Promise.all([
        post(b, '/v1/sync', { ...claim(callsign), since: 0 }),
        post(b, '/v1/avatars', { ...claim(callsign), stations: [] }),
        post(b, '/v1/register', registration(callsign, { wantHistory: true })),
      ])
      expect(asked.map(({ status }) => status)).to.deep.equal([200, 200, 200])
      expect((await post(a, '/v1/unregister', claim(callsign))).status).to.equal(200)
      expect((await post(b, '/v1/sync', { ...claim(callsign), since: 0 })).status).to.equal(404)
      expect((await post(b, '/v1/unregister', claim(callsign))).status).to.equal(404)
    }
  })

  it('show the password of the database nowhere', async () => {
    const sidecar = await start('a')
    const url = new URL(address)
    expect(await (await fetch(sidecar.adminUrl)).text()).to.include(`PostgreSQL database ${url.host}${url.pathname}.`)
    expect(await (await fetch(`${sidecar.adminUrl}/metrics`)).text()).to.match(/^mesh_companion_instances [1-9]/m)
    for (const path of ['/', '/metrics', '/readyz']) {
      const shown = await (await fetch(sidecar.adminUrl + path)).text()
      expect(shown).not.to.include(SECRET)
      expect(shown).not.to.include('postgres://')
    }
    expect(lines.join('')).not.to.include(SECRET)
    const away = new URL(address)
    away.port = '9'
    const findings = await checkStart(settings({ database: away.href }))
    expect(findings.errors.join('')).to.match(/^database: PostgreSQL cannot be reached/)
    expect(JSON.stringify(findings)).not.to.include(SECRET)
  })
})
