import { expect } from 'chai'
import { systemClock } from '../../../../../sidecar/clock.ts'
import { StoreError } from '../../../../../sidecar/errors.ts'
import type { Store } from '../../../../../sidecar/messages/store.ts'
import { planAfterFailure } from '../../../../../sidecar/push/delivery/retry-plan.ts'
import type { Queries } from '../../../../../sidecar/store/postgres/database/connection.ts'
import { openAppends } from '../../../../../sidecar/store/postgres/messages/appends.ts'
import { openPushQueue } from '../../../../../sidecar/store/postgres/pushes/push-queue.ts'
import { pushQueueContract } from '../../contract/push-queue.contract.ts'
import { append, message, registration, SETTINGS } from '../../sqlite/temporary-stores.ts'
import { registerIn } from '../messages/message-tables.ts'
import { postgresStores } from '../postgres-stores.ts'
import { ownDatabase } from '../shared-server.ts'

const MINUTE = 60_000

describe('The push queue in PostgreSQL', () => {
  pushQueueContract(postgresStores(), { leasesEnd: true, runs: 5 })

  describe("The push queue after a step of the database's clock", () => {
    const stores = postgresStores()
    let store: Store
    beforeEach(async () => {
      store = await stores.open()
      for (const key of ['W1AW', 'K1AB']) await store.stations.register(registration(key))
    })

    const receive = (to: string, text: string) => append(store, message(text, { to }))
    const claim = () => store.pushes.claim({ android: 10, ios: 10, webpush: 10 })
    const claimed = async () => (await claim()).map(({ station }) => station)
    /** Steps only the database's clock. The instance's timers do not run. */
    const step = (ms: number) => stores.clock.set(stores.clock.now() + ms)
    const windowEnds = () => step(SETTINGS.push.coalesceMs)

    it("a due push stays due even if the database's clock is set far back", async () => {
      await receive('W1AW', 'one')
      await receive('K1AB', 'two')
      step(-21 * MINUTE)
      expect(await claimed()).to.have.members(['W1AW', 'K1AB'])
      expect(await claimed()).to.deep.equal([])
    })

    it('a push waits until its coalescing window ends if the clock is set back a little', async () => {
      await receive('W1AW', 'one')
      await receive('K1AB', 'two')
      step(-10 * MINUTE)
      await receive('W1AW', 'three')
      windowEnds()
      const claims = await claim()
      expect(claims.map(({ station, unpushed }) => [station, unpushed.count])).to.deep.equal([['W1AW', 2]])
    })

    it('setting the clock back slightly does not change the longest push retry delay', async () => {
      await receive('W1AW', 'one')
      windowEnds()
      const [tried] = await claim()
      if (!tried) throw new Error('Nothing was due.')
      const failed = { claim: { tries: 9 }, elapsedMs: 0, afterMs: Number.POSITIVE_INFINITY }
      const next = planAfterFailure(failed, 1)
      if (!next) throw new Error('It was given up.')
      await store.pushes.retryLater(tried, next)
      expect(await claimed()).to.deep.equal([])
      step(-1)
      await receive('W1AW', 'two')
      windowEnds()
      expect(await claimed()).to.deep.equal([])
      step(next.delayMs)
      expect(await claimed()).to.deep.equal(['W1AW'])
    })
  })

  const suiteDatabase = ownDatabase()

  it('records a settled push as soon as the database is back after an outage', async () => {
    const database = await suiteDatabase.tables(1)
    await registerIn(database, 'W1AW')
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
    const queue = openPushQueue({ ...parts, database: failing, owner: 'a', stationOf: () => undefined })
    const [claim] = await queue.claim({ android: 1, ios: 0, webpush: 0 })
    if (!claim) throw new Error('Nothing was due.')
    await queue.settle(claim)
    queue.close()
    expect(await database.query('SELECT station FROM push_due')).to.deep.equal([])
  })
})
