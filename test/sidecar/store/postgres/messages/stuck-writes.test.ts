import { expect } from 'chai'
import pg from 'pg'
import type { Store } from '../../../../../sidecar/messages/store.ts'
import { newer, register } from '../../sqlite/temporary-stores.ts'
import { postgresStores } from '../postgres-stores.ts'
import { runAt } from '../shared-server.ts'

describe('While all writes to PostgreSQL wait', () => {
  const stores = postgresStores()
  let store: Store
  let locker: pg.Client
  let stuck: Promise<unknown>

  beforeEach(async () => {
    store = await stores.open()
    await register(store, 'N0CALL')
    locker = new pg.Client(stores.address)
    await locker.connect()
    const [{ tables }] = (
      await locker.query(
        "SELECT string_agg(oid::regclass::text, ', ') AS tables FROM pg_class WHERE relkind = 'r' AND relnamespace = 'mesh_companion'::regnamespace",
      )
    ).rows
    // In nobody's way who only reads.
    await locker.query(`BEGIN; LOCK TABLE ${tables} IN EXCLUSIVE MODE`)
    stuck = Promise.allSettled(Array.from({ length: 12 }, (_, index) => store.leases.hold([`lease-${index}`])))
    const waiting = "SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
    while ((await runAt(stores.address, waiting)).length < 4);
  })
  afterEach(async () => {
    await locker.end()
    await stuck
  })

  it('phones sync, avatars are sent, and instances see each other', async () => {
    expect((await newer(store, 'N0CALL')).messages).to.deep.equal([])
    expect(await store.cursors.timeOf('N0CALL', '')).to.be.above(0)
    expect(await store.serverTime.issue()).to.be.above(0)
    expect([...(await store.stations.avatars(['N0CALL']))]).to.deep.equal([])
    expect(await store.stations.find('N1CALL')).to.equal(undefined)
    expect((await store.instances.list()).length).to.equal(1)
    expect(await store.leases.list()).to.deep.equal([])
  })
})
