import { expect } from 'chai'
import { systemClock } from '../../../sidecar/clock.ts'
import type { Queries } from '../../../sidecar/postgres/database/connection.ts'
import { openAppends } from '../../../sidecar/postgres/messages/appends.ts'
import { openPushQueue } from '../../../sidecar/postgres/pushes/push-queue.ts'
import { StoreError } from '../../../sidecar/store/store-error.ts'
import { pushQueueContract } from '../store/contract/push-queue.contract.ts'
import { SETTINGS } from '../store/temporary-stores.ts'
import { messageTables, registerIn } from './message-tables.ts'
import { postgresStores } from './postgres-stores.ts'

describe('The push queue in PostgreSQL', () => {
  pushQueueContract(postgresStores(), { leasesEnd: true, runs: 20 })

  const tables = messageTables()

  it('settles what a phone was told of once a database that was away is back', async () => {
    const database = await tables.open(1)
    await registerIn(database, ['W1AW'])
    const parts = { coalesceMs: 0, clock: systemClock }
    const appends = openAppends({ ...SETTINGS, ...parts, database, onStored: () => undefined })
    const heard = { from: 'K1AB', sourceAsReceived: 'K1AB', to: 'W1AW', seqId: '1', text: Buffer.from('Hello') }
    await appends.append([heard], false)

    let away = 2
    const failing: Queries = {
      query(text, values) {
        if (!text.includes('settle_pushes') || away === 0) return database.query(text, values)
        away -= 1
        return Promise.reject(new StoreError('database_unreachable'))
      },
    }
    const queue = openPushQueue({ ...parts, database: failing, owner: 'a', platformOf: () => 'android' })
    const [claim] = await queue.claim({ android: 1, ios: 0, webpush: 0 })
    if (!claim) throw new Error('Nothing was due.')
    await queue.settle(claim)
    queue.close()
    expect(await database.query('SELECT station FROM push_due')).to.deep.equal([])
  })
})
