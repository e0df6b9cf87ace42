import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect } from 'chai'
import pg from 'pg'
import { type AprsIsServer, startAprsIs } from '../../fixtures/aprsis/server.ts'
import { freePort } from '../../fixtures/free-port.ts'
import { createLog, startSidecar } from '../../sidecar/index.ts'
import { type DebianProgram, findDebianProgram } from '../idps/support/debian-packages.ts'
import { freshDatabase } from '../sidecar/store/postgres/shared-server.ts'
import { createFolder } from '../support/file-folder.ts'
import { settingsOf } from '../support/read-settings.ts'
import { startProgram } from '../support/started-program.ts'
import { until } from './support/primary-and-standby.ts'

interface Alert {
  readonly state: string
  readonly labels: Readonly<Record<string, string>>
}

describe('The alert rules in Prometheus', () => {
  let program: DebianProgram
  let upstream: AprsIsServer
  const closing: (() => Promise<unknown>)[] = []

  before(async function () {
    this.timeout(300_000)
    const installed = await findDebianProgram('prometheus', ['prometheus'])
    if (typeof installed === 'string') {
      process.stdout.write(`  left out: ${installed}\n`)
      this.skip()
    }
    program = installed
    upstream = await startAprsIs()
  })
  after(() => upstream?.close())
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  /** Starts Prometheus. It reads `target` every 3 s and evaluates `rules` every second. @returns the current alerts */
  async function startPrometheus(target: string, rules: string): Promise<() => Promise<readonly Alert[]>> {
    const { path, write, remove } = await createFolder('mesh-companion-prometheus')
    closing.push(remove)
    const port = await freePort()
    const config = {
      // While the database does not return its figures, the sidecar takes some seconds to answer.
      global: { scrape_interval: '3s', evaluation_interval: '1s' },
      rule_files: [await write('alerts.yml', rules)],
      scrape_configs: [{ job_name: 'mesh-companion', static_configs: [{ targets: [target] }] }],
    }
    const options = [
      // JSON is YAML.
      `--config.file=${await write('prometheus.yml', JSON.stringify(config))}`,
      `--storage.tsdb.path=${join(path, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ]
    const { stop } = await startProgram(program.command, options, { env: program.env, ready: /ready to receive web/ })
    closing.push(stop)
    return async () => {
      const answer = await fetch(`http://127.0.0.1:${port}/api/v1/alerts`)
      return ((await answer.json()) as { data: { alerts: readonly Alert[] } }).data.alerts
    }
  }

  // Shows: sidecar O1.1.
  it('an alert fires if a locked table prevents storing messages, even if none arrives', async function () {
    this.timeout(120_000)
    const database = await freshDatabase()
    const admin = new pg.Client(database)
    await admin.connect()
    closing.push(() => admin.end())
    const { host, port } = upstream
    const sidecar = await startSidecar(
      settingsOf({
        listen: { port: 0 },
        admin: { port: 0 },
        aprsis: { callsign: 'N0CALL', listeners: 1, host, port },
        database,
      }),
      createLog('silent'),
    )
    closing.push(sidecar.close)
    const rules = await readFile(new URL('../../sidecar/deploy/alerts.yml', import.meta.url), 'utf8')
    // Shortens each minute of the rules to a second.
    const alerts = await startPrometheus(new URL(sidecar.adminUrl).host, rules.replaceAll(/^( +for: \d+)m$/gm, '$1s'))
    const fires = async () =>
      (await alerts()).some(
        ({ state, labels }) =>
          state === 'firing' && labels.alertname === 'SidecarNotReady' && labels.reason === 'messages_not_stored',
      )
    const status = async () => (await fetch(`${sidecar.adminUrl}/readyz`)).status
    await until(async () => (await status()) === 200)
    expect(await fires()).to.equal(false)
    await admin.query('BEGIN; LOCK TABLE mesh_companion.ring')
    await until(fires)
    expect(await status()).to.equal(503)
    await admin.query('ROLLBACK')
    await until(async () => !(await fires()))
    await until(async () => (await status()) === 200)
  })
})
