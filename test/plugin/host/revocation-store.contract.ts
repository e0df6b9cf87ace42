import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { RevocationStore } from '../../../plugin/host/revocation-store.ts'

const HOUR_MS = 3_600_000

/**
 * Defines tests that every revocation store must pass. @param open opens the same storage again, as another process
 * does
 */
export function revocationStoreContract(open: (now?: () => number) => RevocationStore): void {
  const keys = () => [randomUUID(), randomUUID()] as const
  const later = () => Date.now() + HOUR_MS

  it('a session key that was never revoked has no time of revocation', async () => {
    expect(await open().endedAt(keys())).to.equal(undefined)
    expect(await open().endedAt([])).to.equal(undefined)
  })

  it('a revocation is found by any of its session keys', async () => {
    const [first, second] = keys()
    const store = open()
    await store.revoke([first, second], 1_700_000_000_123, later())
    expect(await store.endedAt([randomUUID(), second])).to.equal(1_700_000_000_123)
    expect(await store.endedAt([first])).to.equal(1_700_000_000_123)
  })

  it('revoking a session key twice keeps the later revocation time, in either order', async () => {
    const [first, second] = keys()
    const store = open()
    await store.revoke([first], 2000, later())
    await store.revoke([first], 1000, later())
    await store.revoke([second], 1000, later())
    await store.revoke([second], 3000, later())
    expect(await store.endedAt([first])).to.equal(2000)
    expect(await store.endedAt([first, second])).to.equal(3000)
  })

  it('a revocation may contain the same session key twice', async () => {
    const [key] = keys()
    const store = open()
    await store.revoke([key, key], 1000, later())
    expect(await store.endedAt([key])).to.equal(1000)
  })
}

/** Defines further tests for a store that several processes share. */
export function sharedStoreContract(open: (now?: () => number) => RevocationStore): void {
  revocationStoreContract(open)

  const later = () => Date.now() + HOUR_MS

  it('a revocation store in a shared database has isShared true', () => {
    expect(open().isShared).to.equal(true)
  })

  it('a process reads the revocations that other processes stored', async () => {
    const key = randomUUID()
    await open().revoke([key], 1000, later())
    expect(await open().endedAt([key])).to.equal(1000)
  })

  it('if several processes reserve a one-time key simultaneously, exactly one succeeds', async () => {
    const wanted = Array.from({ length: 50 }, () => randomUUID())
    const stores = [open(), open(), open()]
    const answers = await Promise.all(
      wanted.flatMap((key) => stores.map(async (store) => [key, await store.once?.(key, later())] as const)),
    )
    const first = answers.filter(([, isFirst]) => isFirst).map(([key]) => key)
    expect(first.toSorted()).to.deep.equal(wanted.toSorted())
  })

  it('a reserved one-time key can be reserved again after it was released', async () => {
    const key = randomUUID()
    const store = open()
    expect(await store.once?.(key, later())).to.equal(true)
    await open().release?.(key)
    expect(await store.once?.(key, later())).to.equal(true)
    expect(await store.once?.(key, later())).to.equal(false)
  })

  it('reserving a one-time key does not revoke a session stored under the same key', async () => {
    const key = randomUUID()
    const store = open()
    await store.once?.(key, later())
    expect(await store.endedAt([key])).to.equal(undefined)
  })
}
