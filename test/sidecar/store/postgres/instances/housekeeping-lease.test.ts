import { EventEmitter, once } from 'node:events'
import { expect } from 'chai'
import { LEASE_MS } from '../../../../../sidecar/messages/leases.ts'
import { underLease } from '../../../../../sidecar/operator/housekeeping/lease.ts'
import { until } from '../../../../support/until.ts'
import { rejection } from '../../sqlite/temporary-stores.ts'
import { postgresStores } from '../postgres-stores.ts'

describe('Housekeeping under a lease', () => {
  const stores = postgresStores()

  // Shows: sidecar P1.6.
  it('only one instance at a time does the housekeeping, at most once an hour', async () => {
    const [first, second] = [await stores.open({ instance: 'one' }), await stores.open({ instance: 'other' })]
    const events = new EventEmitter()
    const begun = once(events, 'begun')
    const long = underLease(first.leases, 'work', stores.clock, async () => {
      events.emit('begun')
      await once(events, 'end')
    })
    await begun

    let times = 0
    const tryOther = async () => {
      await underLease(second.leases, 'work', stores.clock, async () => {
        times += 1
      })
      return times
    }
    for (let passed = 0; passed < 3 * LEASE_MS; passed += LEASE_MS / 3) {
      expect(await tryOther()).to.equal(0)
      await stores.shift(LEASE_MS / 3)
      // Even if the renewal is still pending, the lease is valid for two more such steps.
      await until('the renewal', async () => (await first.leases.list())[0]?.mine === true)
    }
    events.emit('end')
    await long
    expect(await tryOther()).to.equal(0)
    // Advance in small steps, so that both instances can renew their other leases. A renewal of this lease may still be
    // pending.
    while ((await tryOther()) === 0) await stores.shift(1000)
    expect(times).to.equal(1)
  })

  it('runs no housekeeping if the housekeeping lease cannot be requested', async () => {
    const store = await stores.open()
    await store.close()
    let times = 0
    await rejection(
      underLease(store.leases, 'work', stores.clock, async () => {
        times += 1
      }),
    )
    expect(times).to.equal(0)
  })
})
