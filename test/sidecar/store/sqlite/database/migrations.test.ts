import { expect } from 'chai'
import { type Connection, connect } from '../../../../../sidecar/store/sqlite/database/connection.ts'
import { migrate, schemaVersion } from '../../../../../sidecar/store/sqlite/database/migrations.ts'
import { rejection } from '../temporary-stores.ts'

describe('Migrations', () => {
  let connection: Connection
  beforeEach(async () => {
    connection = await connect(':memory:', 0)
  })
  afterEach(() => connection.close())

  const first = 'CREATE TABLE a (x); INSERT INTO a VALUES (1)'
  const second = 'ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1'

  // Shows: sidecar 22.4.
  it('take an older file step by step to the newest version, each step once', async () => {
    await migrate(connection, await schemaVersion(connection, 1), [first])
    expect(await schemaVersion(connection, 2)).to.equal(1)
    await migrate(connection, await schemaVersion(connection, 2), [first, second])
    expect(await schemaVersion(connection, 2)).to.equal(2)
    await migrate(connection, await schemaVersion(connection, 2), [first, second])
    expect(await connection.all('SELECT x, y FROM a')).to.deep.equal([{ x: 1, y: 2 }])
  })

  // Shows: sidecar C8.6.
  it('leave nothing of a step that fails, and keep the steps before it', async () => {
    const error = await rejection(migrate(connection, 0, [first, `${second}; SELECT * FROM nowhere`]))
    expect(error.message).to.include('nowhere')
    expect(await schemaVersion(connection, 2)).to.equal(1)
    await migrate(connection, 1, [first, second])
    expect(await connection.all('SELECT x, y FROM a')).to.deep.equal([{ x: 1, y: 2 }])
  })
})
