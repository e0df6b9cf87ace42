import { expect } from 'chai'
import type { Store } from '../../../../../sidecar/messages/store.ts'
import { newer, register } from '../../sqlite/temporary-stores.ts'
import { postgresStores } from '../postgres-stores.ts'

describe('PostgreSQL while all writes wait', () => {
  const stores = postgresStores()
  let store: Store

  beforeEach(async () => {
    store = await stores.open()
    await register(store, 'N0CALL')
    const [{ tables } = {}] = await stores.run(
      "SELECT string_agg(oid::regclass::text, ', ') AS tables FROM pg_class WHERE relkind = 'r' AND relnamespace = 'mesh_companion'::regnamespace",
    )
    // This lock does not block readers.
    await stores.hold(`BEGIN; SET search_path = mesh_companion; LOCK TABLE ${tables} IN EXCLUSIVE MODE`)
    void Promise.allSettled(Array.from({ length: 12 }, (_, index) => store.leases.hold([`lease-${index}`])))
    await stores.waiting(4)
  })

  it('phones sync and get avatars while all writes to PostgreSQL wait for a lock', async () => {
    expect((await newer(store, 'N0CALL')).messages).to.deep.equal([])
    expect(await store.cursors.stampFor('N0CALL', '')).to.be.above(0)
    expect(await store.stamps.issue()).to.be.above(0)
    expect([...(await store.stations.avatars(['N0CALL']))]).to.deep.equal([])
    expect(await store.stations.find('N1CALL')).to.equal(undefined)
    expect((await store.instances.list()).length).to.equal(1)
    expect(await store.leases.list()).to.deep.equal([])
  })
})
