import { expect } from 'chai'
import type { Connection } from '../../../../sidecar/store/sqlite/database/connection.ts'
import { reportsContract } from '../contract/reports.contract.ts'
import { message, registration, rejection, temporaryStores } from './temporary-stores.ts'

describe("The operator's report on stations in SQLite", () => reportsContract(temporaryStores()))

describe('The acks of messages that SQLite cannot store', () => {
  const stores = temporaryStores()

  it('acknowledges a repeated message whose first copies could not be stored', async () => {
    const { store, connection } = await stores.openOver()
    await store.stations.register(registration('N0CALL', { ackMessages: true }))
    let isFull = true
    const all = connection.all
    connection.all = ((sql: string, ...values: never[]) =>
      isFull && sql.includes('INSERT INTO message')
        ? Promise.reject(Object.assign(new Error('disk full'), { code: 'SQLITE_FULL' }))
        : all(sql, ...values)) as Connection['all']
    for (let tries = 0; tries < 12; tries += 1)
      expect(await rejection(store.history.append([message('Hello')], true))).to.include({ code: 'disk_full' })
    isFull = false
    const [outcome] = await store.history.append([message('Hello')], true)
    expect(outcome).to.include({ kind: 'stored', ack: true })
  })
})
