import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import pg from 'pg'
import { type AprsIsServer, startAprsIs } from '../../fixtures/aprsis/server.ts'
import { createLog, startSidecar } from '../../sidecar/index.ts'
import type { DebianProgram } from '../idps/support/debian-packages.ts'
import { freshDatabase } from '../sidecar/store/postgres/shared-server.ts'
import { settingsOf } from '../support/settings-of.ts'
import { until } from './support/primary-and-standby.ts'
import { findPrometheus, startPrometheus } from './support/prometheus.ts'

describe('The alerts in Prometheus', () => {
  let program: DebianProgram
  let upstream: AprsIsServer
  const closing: (() => Promise<unknown>)[] = []

  before(async function () {
    this.timeout(300_000)
    const found = await findPrometheus()
    if (typeof found === 'string') {
      process.stdout.write(`  left out: ${found}\n`)
      this.skip()
    }
    program = found
    upstream = await startAprsIs()
  })
  after(() => upstream?.close())
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  it('say that messages are not stored while a table is locked, though none comes, and no longer', async function () {
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
    // A minute of theirs is a second.
    const prometheus = await startPrometheus(
      program,
      new URL(sidecar.adminUrl).host,
      rules.replaceAll(/^( +for: \d+)m$/gm, '$1s'),
    )
    closing.push(prometheus.stop)
    const fires = async () =>
      (await prometheus.firing()).some(
        ({ name, reason }) => name === 'SidecarNotReady' && reason === 'messages_not_stored',
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
