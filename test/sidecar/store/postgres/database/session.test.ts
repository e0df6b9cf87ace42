import { expect } from 'chai'
import pg from 'pg'
import { setUpSession } from '../../../../../sidecar/store/postgres/database/session.ts'
import { rejection } from '../../sqlite/temporary-stores.ts'
import { ownDatabase } from '../shared-server.ts'

describe('The set-up of a PostgreSQL session', () => {
  const database = ownDatabase()

  async function connect(): Promise<pg.Client> {
    const client = new pg.Client(database.address)
    await client.connect()
    database.closing.push(() => client.end())
    return client
  }

  /** Sends each statement to the next session, like a pooler in statement mode. */
  function roundRobin(sessions: readonly pg.Client[]): pg.Client {
    let statements = 0
    const query = (text: string) => sessions[statements++ % sessions.length]?.query(text)
    return Object.assign(new pg.Client(database.address), { query })
  }

  it('sets up a PostgreSQL session even if the schema does not exist yet', async () => {
    const client = await connect()
    for (const schema of ['', 'mesh_companion']) {
      await setUpSession(client, { jit: 'off', statement_timeout: 12_000 })
      const { rows } = await client.query(
        "SELECT coalesce(current_schema(), '') AS schema, current_setting('jit') AS jit, current_setting('statement_timeout') AS most",
      )
      expect(rows).to.deep.equal([{ schema, jit: 'off', most: '12s' }])
      await database.run('CREATE SCHEMA IF NOT EXISTS mesh_companion')
    }
  })

  it('refuses a pooled connection that sends statements to different sessions', async () => {
    const error = await rejection(setUpSession(roundRobin([await connect(), await connect()]), {}))
    expect(error).to.include({ code: 'database_pooled' })
    expect(error.remedy).to.include('pool_mode = session')
  })

  it('refuses a pooled connection if its pooler resets the search path', async () => {
    const client = await connect()
    const query = async (text: string) => {
      const answer = await client.query(text)
      await client.query('RESET ALL')
      return answer
    }
    expect(
      (await rejection(setUpSession(Object.assign(new pg.Client(database.address), { query }), {}))).code,
    ).to.equal('database_pooled')
  })
})
