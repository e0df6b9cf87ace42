import { expect } from 'chai'
import { type Connection, connect } from '../../../../../sidecar/store/sqlite/database/connection.ts'
import {
  BASELINE,
  demandVersion,
  fileVersion,
  migrate,
} from '../../../../../sidecar/store/sqlite/database/migrations.ts'
import { rejection } from '../temporary-stores.ts'

describe('The migrations of the database file', () => {
  let connection: Connection
  beforeEach(async () => {
    connection = await connect(':memory:', 0)
  })
  afterEach(() => connection.close())

  const first = 'CREATE TABLE a (x); INSERT INTO a VALUES (1)'
  const second = 'ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1'
  const SCHEMA = 'SELECT name FROM sqlite_schema WHERE sql IS NOT NULL ORDER BY name'

  it('a new database file gets the tables of the baseline schema', async () => {
    await migrate(connection, await demandVersion(connection))
    expect(await fileVersion(connection)).to.equal(BASELINE)
    const tables = await connection.all<{ name: string }>(SCHEMA)
    expect(tables.map(({ name }) => name).join()).to.equal(
      'ack,ack_station,avatar,device,message,message_other_ssid,state,station,station_unproven',
    )
  })

  // Shows: sidecar 22.4.
  it('an old database file is migrated step by step to the newest version, once', async () => {
    await migrate(connection, 0, [first])
    expect(await fileVersion(connection)).to.equal(BASELINE + 1)
    await migrate(connection, BASELINE + 1, [first, second])
    expect(await fileVersion(connection)).to.equal(BASELINE + 2)
    await migrate(connection, BASELINE + 2, [first, second])
    expect(await connection.all('SELECT x, y FROM a')).to.deep.equal([{ x: 1, y: 2 }])
  })

  // Shows: sidecar C8.6.
  it('a failed migration step is undone, and the steps before it stay', async () => {
    const error = await rejection(migrate(connection, 0, [first, `${second}; SELECT * FROM nowhere`]))
    expect(error.message).to.include('nowhere')
    expect(await fileVersion(connection)).to.equal(BASELINE + 1)
    await migrate(connection, BASELINE + 1, [first, second])
    expect(await connection.all('SELECT x, y FROM a')).to.deep.equal([{ x: 1, y: 2 }])
  })

  // Shows: sidecar C8.5.
  it('refuses a database file that is older than the baseline, naming its version', async () => {
    await migrate(connection, 0)
    for (const version of [1, BASELINE - 1]) {
      await connection.exec(`PRAGMA user_version = ${version}`)
      const error = await rejection(demandVersion(connection))
      expect(error).to.include({ code: 'database_outdated' })
      expect(error)
        .to.have.nested.property('cause.message')
        .that.includes(`version ${version}, and this sidecar needs ${BASELINE} or later`)
    }
  })
})
