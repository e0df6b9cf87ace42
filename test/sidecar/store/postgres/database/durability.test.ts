import { Socket } from 'node:net'
import { expect } from 'chai'
import pg from 'pg'
import { warnOfLoss } from '../../../../../sidecar/store/postgres/database/durability.ts'
import { recordedLog } from '../../../../support/recorded-log.ts'
import { until } from '../../../../support/until.ts'
import { ownDatabase } from '../shared-server.ts'

describe('The warning that PostgreSQL may lose messages', () => {
  const database = ownDatabase()
  const { log, lines } = recordedLog()

  /** Connects as an asynchronous standby that reads the server's log. Resolves with a function that ends it. */
  async function standby(): Promise<() => void> {
    const socket = new Socket()
    const config: pg.ClientConfig & { replication: string } = {
      connectionString: database.address,
      replication: 'true',
      stream: () => socket,
    }
    const client = new pg.Client(config)
    client.on('error', () => undefined)
    await client.connect()
    const { rows } = await client.query('IDENTIFY_SYSTEM')
    client.query(`START_REPLICATION PHYSICAL ${rows[0].xlogpos}`).catch(() => undefined)
    const streaming = "SELECT FROM pg_stat_replication WHERE state = 'streaming'"
    await until('the standby to stream', async () => (await database.run(streaming)).length > 0)
    return () => socket.destroy()
  }

  it('does not warn of message loss if PostgreSQL has no standby', async () => {
    await warnOfLoss(await database.connect(), log)
    expect(lines).to.deep.equal([])
  })

  it('warns if all standbys are asynchronous, even with an ordinary database role', async () => {
    const end = await standby()
    await database.run('CREATE ROLE ordinary LOGIN')
    const ordinary = database.address.replace('mesh@', 'ordinary@')
    await warnOfLoss(await database.connect(undefined, log, ordinary), log)
    expect(lines).to.have.lengthOf(1)
    expect(lines[0]).to.include({ level: 'warn', event: 'database-may-lose-messages', standbys: 1, synchronous: false })
    end()
  })
})
