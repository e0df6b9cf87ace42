import { Socket } from 'node:net'
import { expect } from 'chai'
import pg from 'pg'
import { systemClock } from '../../../../../sidecar/clock.ts'
import { createLog } from '../../../../../sidecar/log.ts'
import { connectPostgres, type Postgres } from '../../../../../sidecar/store/postgres/database/connection.ts'
import { warnOfLoss } from '../../../../../sidecar/store/postgres/database/durability.ts'
import { freshDatabase, runAt } from '../shared-server.ts'

describe('The warning of a database that may lose messages', () => {
  let address = ''
  let postgres: Postgres
  let lines: Record<string, unknown>[] = []
  const log = createLog('debug', { write: (line) => void lines.push(JSON.parse(line)) })

  before(async function () {
    this.timeout(120_000)
    address = await freshDatabase()
  })
  beforeEach(async () => {
    lines = []
    postgres = await connectPostgres({ database: address, databaseTls: { caFile: null } }, systemClock, log)
  })
  afterEach(() => postgres.close())

  /** What a server takes for an asynchronous standby: somebody who reads its log. Resolves with how to end it. */
  async function standby(): Promise<() => void> {
    const socket = new Socket()
    const config: pg.ClientConfig & { replication: string } = {
      connectionString: address,
      replication: 'true',
      stream: () => socket,
    }
    const client = new pg.Client(config)
    client.on('error', () => undefined)
    await client.connect()
    const { rows } = await client.query('IDENTIFY_SYSTEM')
    client.query(`START_REPLICATION PHYSICAL ${rows[0].xlogpos}`).catch(() => undefined)
    while ((await runAt(address, "SELECT FROM pg_stat_replication WHERE state = 'streaming'")).length === 0);
    return () => socket.destroy()
  }

  it('is not given where there is no standby', async () => {
    await warnOfLoss(postgres, log)
    expect(lines).to.deep.equal([])
  })

  it('is given to any role where no standby has what is confirmed', async () => {
    const end = await standby()
    await runAt(address, 'CREATE ROLE ordinary LOGIN')
    const settings = { database: address.replace('mesh@', 'ordinary@'), databaseTls: { caFile: null } }
    const ordinary = await connectPostgres(settings, systemClock, log)
    await warnOfLoss(ordinary, log)
    expect(lines).to.have.lengthOf(1)
    expect(lines[0]).to.include({ level: 'warn', event: 'database-may-lose-messages', standbys: 1, synchronous: false })

    await ordinary.close()
    end()
  })

  it('is given where the server confirms before it has written', async () => {
    await runAt(address, `ALTER DATABASE ${new URL(address).pathname.slice(1)} SET synchronous_commit = off`)
    await warnOfLoss(postgres, log)
    expect(lines.map(({ event }) => event)).to.deep.equal(['database-may-lose-messages'])
  })
})
