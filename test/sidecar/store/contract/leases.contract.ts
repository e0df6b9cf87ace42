import { expect } from 'chai'
import type { Store } from '../../../../sidecar/messages/store.ts'
import type { ContractStores } from './stores.ts'

/** The contract of leases for an instance without competitors. Call it inside a `describe`. */
export function leasesContract(stores: ContractStores): void {
  let store: Store
  beforeEach(async () => {
    store = await stores.open({ instance: 'one' })
  })

  const held = async () => (await store.leases.list()).map(({ name }) => name).sort()

  it('grants a free lease, and renews the lease for the same instance', async () => {
    for (let times = 0; times < 2; times += 1)
      expect([...(await store.leases.hold(['listener/0', 'call/N0CALL']))].sort()).to.deep.equal([
        'call/N0CALL',
        'listener/0',
      ])
    expect(await held()).to.deep.equal(['call/N0CALL', 'listener/0'])
    expect([...(await store.leases.hold([]))]).to.deep.equal([])
  })

  it('lists each lease with its holder and the text passed at the last renewal', async () => {
    await store.leases.hold(['listener/0'], 'first')
    await store.leases.hold(['listener/0'], 'second')
    expect(await store.leases.list()).to.deep.equal([
      { name: 'listener/0', instance: 'one', note: 'second', mine: true },
    ])
  })

  it('a released lease is no longer listed', async () => {
    await store.leases.hold(['listener/0', 'listener/1'])
    await store.leases.release(['listener/0', 'unheard-of'])
    expect(await held()).to.deep.equal(['listener/1'])
  })

  it('lists this instance with its start time and the status that it published', async () => {
    const { instances } = store
    expect(instances.name).to.equal('one')
    instances.publishNote('{"version":1}')
    const [instance, ...furtherInstances] = await instances.list()
    expect(furtherInstances).to.deep.equal([])
    expect(instance).to.include({ name: 'one', note: '{"version":1}' })
    expect(instance?.startedAt).to.equal(stores.now())
  })
}
