import { expect } from 'chai'
import { LEASE_MS } from '../../../../../sidecar/messages/leases.ts'
import type { Store } from '../../../../../sidecar/messages/store.ts'
import { postgresStores } from '../postgres-stores.ts'

describe('The leases of several instances on PostgreSQL', () => {
  const stores = postgresStores()
  const open = (instance: string) => stores.open({ instance })
  const held = async (store: Store, ...names: string[]) => [...(await store.leases.hold(names))].sort()

  /** Advances the clock by `ms`. Meanwhile, the `touching` stores query the database each second. */
  async function passInTouch(ms: number, ...touching: Store[]): Promise<void> {
    for (let passed = 0; passed < ms; passed += 1000) {
      await stores.clock.advance(Math.min(1000, ms - passed))
      for (const store of touching) await store.leases.list()
    }
  }

  it("a lease has one holder at a time, and other instances see the holder's name", async () => {
    const [a, b] = [await open('a'), await open('b')]
    expect(await held(a, 'listener/0', 'call/N0CALL')).to.deep.equal(['call/N0CALL', 'listener/0'])
    expect(await held(b, 'listener/0', 'listener/1')).to.deep.equal(['listener/1'])
    expect((await b.leases.list()).map(({ name, instance, mine }) => [name, instance, mine])).to.deep.equal([
      ['call/N0CALL', 'a', false],
      ['listener/0', 'a', false],
      ['listener/1', 'b', true],
    ])
  })

  it('each lease has one holder, even if many instances request it at once', async () => {
    const all = await Promise.all(['a', 'b', 'c', 'd'].map(open))
    const names = Array.from({ length: 42 }, (_, index) => `call/N0CALL-${index + 16}`)
    const granted = await Promise.all(
      all.flatMap((store, index) =>
        [0, 1].map(async () => (await held(store, ...names)).map((name) => `${name} ${index}`)),
      ),
    )
    expect(new Set(granted.flat()).size).to.equal(names.length)
  })

  it('an expired lease is granted only to an instance connected for over LEASE_MS', async () => {
    const [a, b, c] = [await open('a'), await open('b'), await open('c')]
    await b.leases.list()
    await held(a, 'listener/0')
    await passInTouch(LEASE_MS, b)
    expect(await held(b, 'listener/0')).to.deep.equal([])
    await passInTouch(1, b)
    expect(await held(c, 'listener/0')).to.deep.equal([])
    expect(await held(b, 'listener/0')).to.deep.equal(['listener/0'])
  })

  it('an instance gets its lease back after a database outage longer than the lease', async () => {
    const [a, b] = [await open('a'), await open('b')]
    await passInTouch(LEASE_MS, a, b)
    await held(a, 'listener/0')
    await stores.clock.advance(60_000)
    await passInTouch(LEASE_MS - 1000, b)
    expect(await held(b, 'listener/0')).to.deep.equal([])
    expect(await held(a, 'listener/0')).to.deep.equal(['listener/0'])
    await passInTouch(1000, b)
    expect(await held(b, 'listener/0')).to.deep.equal([])
  })

  it('a lease is free at once if its holder releases it or ends', async () => {
    const [a, b] = [await open('a'), await open('b')]
    await held(a, 'listener/0', 'listener/1')
    await a.leases.release(['listener/0'])
    expect(await held(b, 'listener/0', 'listener/1')).to.deep.equal(['listener/0'])
    await a.close()
    expect(await held(b, 'listener/1')).to.deep.equal(['listener/1'])
  })
})
