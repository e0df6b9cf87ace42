import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { inspect } from 'node:util'
import { expect } from 'chai'
import { makeCertificates } from '../../../../fixtures/certificate.ts'
import { type Clock, systemClock } from '../../../../sidecar/clock.ts'
import { isLocal, readAddress, tlsTo } from '../../../../sidecar/store/postgres/database/address.ts'
import { openPostgresStore, type PostgresStoreSettings } from '../../../../sidecar/store/postgres/open-postgres.ts'
import { migrate } from '../../../../sidecar/store/postgres/schema/migrations.ts'
import { BASELINE } from '../../../../sidecar/store/postgres/schema/schema-version.ts'
import { freePort } from '../../../support/host-process.ts'
import { onLoopback } from '../../../support/on-loopback.ts'
import { recordedLog } from '../../../support/recorded-log.ts'
import { sidecarProcesses } from '../../../support/sidecar-processes.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'
import { registration, rejection, SETTINGS } from '../sqlite/temporary-stores.ts'
import { authority, HASTY, ownDatabase } from './shared-server.ts'

const SECRET = 'correct-horse-battery'

describe('The opening of the store in PostgreSQL', () => {
  const suiteDatabase = ownDatabase()
  const { log, lines, logged, shown } = recordedLog()
  beforeEach(() => suiteDatabase.run('DROP SCHEMA IF EXISTS mesh_companion CASCADE'))

  async function open(changes: Partial<PostgresStoreSettings> = {}, clock: Clock = systemClock) {
    const store = await openPostgresStore({ ...SETTINGS, ...suiteDatabase.at(), ...changes }, clock, log)
    suiteDatabase.closing.push(store.close)
    return store
  }

  const sidecars = sidecarProcesses()
  const through = (port: number) => suiteDatabase.address.replace(/:\d+\//, `:${port}/`)

  it('creates the tables when several instances open an empty database at once', async () => {
    const stores = await Promise.all(['a', 'b', 'c', 'd'].map((instance) => open({ instance })))
    const [first, last] = [stores[0], stores[3]]
    await first?.stations.register(registration('N0CALL'))
    expect((await last?.stations.find('N0CALL'))?.devices[0]?.pushToken).to.equal('token-of-N0CALL')
    expect((await last?.instances.list())?.map(({ name }) => name)).to.deep.equal(['a', 'b', 'c', 'd'])
  })

  it('refuses a PostgreSQL server that is on an older timeline than the recorded one', async () => {
    const first = await open()
    await first.probe()
    const [clock] = await suiteDatabase.run('SELECT timeline, server FROM mesh_companion.clock')
    const [system] = await suiteDatabase.run('SELECT system_identifier AS server FROM pg_control_system()')
    expect(clock).to.deep.equal({ timeline: 1, ...system })
    await first.close()
    await suiteDatabase.run('UPDATE mesh_companion.clock SET timeline = 2')
    expect((await rejection(open({}, HASTY))).code).to.equal('database_older')
    // Like a dump that was restored on another server.
    await suiteDatabase.run('UPDATE mesh_companion.clock SET server = server + 1')
    await open()
  })

  it('applies each schema migration once, and undoes one that fails', async () => {
    const postgres = await suiteDatabase.tables()
    const version = async () => (await suiteDatabase.run('SELECT version FROM clock'))[0]?.version
    const steps = ['CREATE TABLE remark (x int); INSERT INTO remark VALUES (1)', 'UPDATE remark SET x = x + 1']
    await rejection(migrate(postgres, [...steps, 'SELECT * FROM nowhere']))
    expect(await version()).to.equal(BASELINE)
    await migrate(postgres, steps.slice(0, 1))
    await migrate(postgres, steps)
    await migrate(postgres, steps)
    expect(await suiteDatabase.run('SELECT x, version FROM remark, clock')).to.deep.equal([
      { x: 2, version: BASELINE + 2 },
    ])
    expect((await rejection(migrate(postgres))).code).to.equal('database_newer')
  })

  it('refuses PostgreSQL older than version 15', async () => {
    const old = { query: async () => [{ version: 140_012, writable: true }] as never, run: async () => undefined }
    expect((await rejection(migrate({ onOwnConnection: (work) => work(old) }))).code).to.equal('database_too_old')
  })

  it('waits for an unreachable database, and logs the outage and its end', async () => {
    const { relay, address } = await suiteDatabase.relayed()
    await relay.cut()
    const opening = open({ database: address }, { ...HASTY, elapsed: systemClock.elapsed })
    await logged('store-write-failed')
    await relay.mend()
    const store = await opening
    await logged('store-write-recovered')
    expect(store.fault()).to.equal(undefined)
    expect(shown('event')).to.deep.equal(['store-write-failed', 'store-write-recovered'])
  })

  // Shows: sidecar C6.2.
  it('aborting the start has no effect on a store in PostgreSQL that is already open', async () => {
    const stopping = new AbortController()
    const settings = { ...SETTINGS, ...suiteDatabase.at() }
    const store = await openPostgresStore(settings, systemClock, log, undefined, stopping.signal)
    suiteDatabase.closing.push(store.close)
    stopping.abort()
    expect((await store.stations.register(registration('N0CALL'))).kind).to.equal('created')
  })

  it('a start keeps its process alive until the database is reachable', async () => {
    const { relay, address } = await suiteDatabase.relayed()
    await relay.cut()
    const child = sidecars.start(['--config', await sidecars.configure({ database: address })])
    await child.logged('store-write-failed')
    await relay.mend()
    expect(await child.url()).to.match(/^http/)
  })

  it('gives up on an unreachable database after a minute, and names the remedy', async () => {
    const error = await rejection(open({ database: through(await freePort()) }, HASTY))
    expect(error).to.include({ code: 'database_unreachable' })
    expect(error.remedy).to.contain('"database"')
  })

  for (const [caseName, code, index] of [
    ['an unreachable server', 'database_unreachable', `mesh:${SECRET}@127.0.0.1:AWAY/postgres`],
    ['a missing database', 'database_missing', `mesh:${SECRET}@127.0.0.1:PORT/no_such_database`],
    ['an unknown user', 'database_role_missing', `nobody_known:${SECRET}@127.0.0.1:PORT/postgres`],
    ['an invalid address', 'database_unreachable', `mesh:${SECRET}@[::1/postgres`],
  ] as const)
    it(`opening fails for ${caseName} without revealing the password`, async () => {
      const { port } = new URL(suiteDatabase.address)
      const database = `postgres://${index.replace('PORT', port).replace('AWAY', String(await freePort()))}`
      // A start retries only if the server is unreachable. Only that case needs the fast clock.
      const error = await rejection(open({ database }, code === 'database_unreachable' ? HASTY : systemClock))
      expect(error.code).to.equal(code)
      expect(inspect(error, { depth: 12, showHidden: true })).to.not.contain(SECRET)
      expect(JSON.stringify(lines)).to.not.contain(SECRET)
    })

  describe('The name of an instance', () => {
    it('a store refuses to open under the name of an instance that is still running', async () => {
      await open({ instance: 'one' })
      expect((await rejection(open({ instance: 'one' }, HASTY))).code).to.equal('instance_taken')
    })

    it('a store opens at once under the name of an instance that was closed', async () => {
      await (await open({ instance: 'one' })).close()
      expect((await open({ instance: 'one' })).instances.name).to.equal('one')
    })

    it("a store opens under a killed instance's name after 6 s without a heartbeat", async () => {
      await (await open({ instance: 'one' })).close()
      // State after a kill: the last heartbeat is recent, and the instance has not signed off.
      await suiteDatabase.run(
        "UPDATE mesh_companion.instance SET owner = 'a life before', seen_at = mesh_companion.now_ms() - 5500",
      )
      expect((await open({ instance: 'one' })).instances.name).to.equal('one')
    })
  })

  describe('The TLS to PostgreSQL', () => {
    const folder = temporaryFolder()
    async function trusting(authorities: string) {
      await writeFile(folder.path('ca.pem'), authorities)
      return { databaseTls: { caFile: folder.path('ca.pem') } }
    }

    it('encrypts all connections if databaseTls.caFile is set', async () => {
      // Connections of earlier tests may remain for a while.
      const [{ begun } = {}] = await suiteDatabase.run('SELECT clock_timestamp()::text AS begun')
      await open({
        ...(await trusting(await authority())),
        database: suiteDatabase.address.replace('127.0.0.1', 'localhost'),
      })
      const kinds = async () => {
        const isEncrypted =
          await suiteDatabase.run(`SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
           WHERE application_name = 'mesh-companion-sidecar' AND datname = current_database()
             AND backend_start > '${begun}'`)
        return isEncrypted.map(({ ssl }) => ssl).join()
      }
      expect(await kinds()).to.equal('true')
    })

    it('refuses a database server with a certificate of another authority', async () => {
      const error = await rejection(open(await trusting((await makeCertificates()).ca.cert)))
      expect(error).to.include({ code: 'database_untrusted' })
      expect(error.remedy).to.contain('databaseTls.caFile')
    })

    it('refuses a database server without TLS if databaseTls.caFile is set', async () => {
      const { port, close } = await onLoopback(createServer((socket) => socket.once('data', () => socket.end('N'))))
      suiteDatabase.closing.push(close)
      const database = through(port)
      const error = await rejection(open({ ...(await trusting(await authority())), database }))
      expect(error.code).to.equal('database_untrusted')
    })

    it('uses TLS with certificate checks for any database host but this machine', async () => {
      for (const host of ['db.example', '192.0.2.1', '127.0.0.1.example', '[2001:db8::1]']) {
        const address = readAddress(`postgresql://u:p%40ss@${host}:5433/mesh`)
        expect(address).to.include({ port: 5433, user: 'u', password: 'p@ss', database: 'mesh' })
        expect(await tlsTo(address, null)).to.deep.equal({ rejectUnauthorized: true })
      }
      for (const host of ['localhost', '127.0.0.1', '[::1]', '%2Fvar%2Frun%2Fpostgresql'])
        expect(isLocal(readAddress(`postgres://${host}/mesh`)), host).to.equal(true)
    })
  })
})
