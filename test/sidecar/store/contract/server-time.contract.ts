import { expect } from 'chai'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { message, register, registration, stampOf } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

const HOUR = 3_600_000
const STATIONS = ['N0CALL', 'W1AW'] as const

/** The contract of stamps for every store. Call it inside a `describe`. */
export function serverTimeContract(stores: ContractStores): void {
  let store: Store
  beforeEach(async () => {
    store = await stores.open()
    await register(store, ...STATIONS)
  })

  let sent = 0
  const receive = (to: string = STATIONS[0]) => stampOf(store, message(`text ${++sent}`, { to }))
  const expectGrowing = (stamps: readonly number[]) =>
    expect(stamps).to.deep.equal([...new Set(stamps)].sort((a, b) => a - b))

  it('a new stamp is newer than all stored messages and older than all later messages', async () => {
    const stamps = [await receive()]
    for (const to of STATIONS) stamps.push(await store.stamps.issue(), await receive(to))
    expectGrowing(stamps)
  })

  it("a message's stamp is the current time in milliseconds if the load is low", async () => {
    await stores.shift(HOUR)
    expect(await receive()).to.be.closeTo(stores.now(), 1)
  })

  it('stamps never decrease if the clock is set back, even across a restart', async () => {
    const stamps = [await receive()]
    await stores.shift(-1000 * HOUR)
    stamps.push(await store.stamps.issue(), await receive())
    await store.close()
    store = await stores.open()
    stamps.push(await store.stamps.issue(), await receive())
    expectGrowing(stamps)
  })

  it('a registration is stamped after earlier messages and before later messages', async () => {
    const earlier = await receive()
    const outcome = await store.stations.register(registration('K9NEW', { platform: 'ios' }))
    const registeredAt = outcome.kind === 'created' ? outcome.station.registeredAt : Number.NaN
    expect(registeredAt).to.be.above(earlier)
    expect(await receive('K9NEW')).to.be.above(registeredAt)
  })
}
