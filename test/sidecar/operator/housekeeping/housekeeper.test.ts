import { expect } from 'chai'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { createMetrics, type Metrics } from '../../../../sidecar/metrics.ts'
import { createExpiry } from '../../../../sidecar/operator/housekeeping/expiry.ts'
import { Housekeeper } from '../../../../sidecar/operator/housekeeping/housekeeper.ts'
import type { Connection } from '../../../../sidecar/store/sqlite/database/connection.ts'
import { register, temporaryStores } from '../../store/sqlite/temporary-stores.ts'

const HOUR = 3_600_000

describe('The housekeeper', () => {
  const stores = temporaryStores()
  let store: Store
  let connection: Connection
  let metrics: Metrics
  let housekeeper: Housekeeper
  let changes: number

  beforeEach(async () => {
    const opened = await stores.openOver()
    store = opened.store
    connection = opened.connection
    metrics = createMetrics()
    changes = 0
    store.stations.onChange(() => changes++)
    housekeeper = new Housekeeper({
      ...store,
      expiry: createExpiry(720 * HOUR, stores.clock.now()),
      clock: stores.clock,
      metrics,
      log: stores.log,
    })
  })

  /** Advances the clock hour by hour, with a run of the housekeeper after each hour. */
  async function live(hours: number): Promise<void> {
    for (let hour = 0; hour < hours; hour++) {
      await stores.clock.advance(HOUR)
      await housekeeper.run()
    }
  }
  const events = () => stores.lines.map(({ event }) => event)

  // Shows: sidecar 9.2, C1.21, C11.2.
  it('housekeeping removes a station that was silent too long, and updates the filter', async () => {
    await register(store, 'N1CALL')
    await live(300)
    await register(store, 'N2CALL')
    changes = 0
    await live(420)
    expect([...store.stations.keys()]).to.deep.equal(['N1CALL', 'N2CALL'])
    await live(1)
    expect([...store.stations.keys()]).to.deep.equal(['N2CALL'])
    const counted = [metrics.value('stations_expired'), metrics.value('stations_unregistered')]
    expect(changes).to.equal(1)
    expect(counted).to.deep.equal([1, 0])
    expect(stores.lines.find(({ event }) => event === 'stations-expired')).to.include({ level: 'info', stations: 1 })
  })

  it('starting housekeeping while it runs returns the current run', async () => {
    const first = housekeeper.run()
    expect(housekeeper.run()).to.equal(first)
    await first
    expect(housekeeper.run()).to.not.equal(first)
  })

  it('logs once that housekeeping fails, and once that it has recovered', async () => {
    await connection.exec('ALTER TABLE avatar RENAME TO gone')
    await live(5)
    expect(metrics.value('housekeeping_failed')).to.equal(5)
    expect(events().filter((event) => event === 'housekeeping-failed').length).to.equal(1)
    await connection.exec('ALTER TABLE gone RENAME TO avatar')
    await live(2)
    expect(events().filter((event) => event === 'housekeeping-recovered').length).to.equal(1)
    expect(metrics.value('housekeeping_failed')).to.equal(5)
  })

  it('closing the housekeeper stops the current run and prevents further runs', async () => {
    await register(store, ...Array.from({ length: 200 }, (_, index) => `N${index}CALL`))
    await live(719)
    await stores.clock.advance(2 * HOUR)
    changes = 0
    const running = housekeeper.run()
    while (changes === 0) await new Promise((resolve) => setImmediate(resolve))
    await Promise.all([housekeeper.close(), housekeeper.close()])
    await running
    expect(store.stations.size).to.be.within(1, 199)
    await housekeeper.run()
    expect(events()).to.not.include('housekeeping-failed')
  })
})
