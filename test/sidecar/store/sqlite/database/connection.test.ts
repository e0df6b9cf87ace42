import { expect } from 'chai'
import { type Connection, connect } from '../../../../../sidecar/store/sqlite/database/connection.ts'
import { rejection, temporaryStores } from '../temporary-stores.ts'

describe('A SQLite connection', () => {
  const stores = temporaryStores()
  let connection: Connection
  beforeEach(async () => {
    connection = await connect(stores.path(), 0)
  })
  afterEach(() => connection.close())

  it('a SQLite statement that failed once is prepared again', async () => {
    const count = 'SELECT count(*) AS count FROM later'
    expect((await rejection(connection.all(count))).message).to.include('no such table')
    await connection.exec('CREATE TABLE later (x)')
    expect(await connection.all(count)).to.deep.equal([{ count: 0 }])
  })

  it('a SQLite statement holds no lock after it has returned its rows', async () => {
    await connection.exec('CREATE TABLE number (x); INSERT INTO number VALUES (1), (2), (3)')
    await connection.all('SELECT x FROM number')
    const second = await connect(stores.path(), 0)
    await second.exec('DROP TABLE number')
    await second.close()
  })
})
