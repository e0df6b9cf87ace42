import { randomUUID } from 'node:crypto'
import { expect } from 'chai'
import type { RevocationStore } from '../../../plugin/host/revocation-store.ts'

const HOUR_MS = 3_600_000

/**
 * What every store of revocations has to do. @param open another one over the same place each time, as another process
 * has it
 */
export function revocationStoreContract(open: (now?: () => number) => RevocationStore): void {
  const keys = () => [randomUUID(), randomUUID()] as const
  const later = () => Date.now() + HOUR_MS

  it('knows nothing of what nobody ended', async () => {
    expect(await open().endedAt(keys())).to.equal(undefined)
    expect(await open().endedAt([])).to.equal(undefined)
  })

  it('remembers when what bears any of the keys ended', async () => {
    const [one, other] = keys()
    const store = open()
    await store.revoke([one, other], 1_700_000_000_123, later())
    expect(await store.endedAt([randomUUID(), other])).to.equal(1_700_000_000_123)
    expect(await store.endedAt([one])).to.equal(1_700_000_000_123)
  })

  it('keeps the later end, in whichever order they come', async () => {
    const [one, other] = keys()
    const store = open()
    await store.revoke([one], 2000, later())
    await store.revoke([one], 1000, later())
    await store.revoke([other], 1000, later())
    await store.revoke([other], 3000, later())
    expect(await store.endedAt([one])).to.equal(2000)
    expect(await store.endedAt([one, other])).to.equal(3000)
  })

  it('takes the same key twice in one call', async () => {
    const [one] = keys()
    const store = open()
    await store.revoke([one, one], 1000, later())
    expect(await store.endedAt([one])).to.equal(1000)
  })
}

/** What one has to do besides that all processes of a server share. */
export function sharedStoreContract(open: (now?: () => number) => RevocationStore): void {
  revocationStoreContract(open)

  const later = () => Date.now() + HOUR_MS

  it('says that it is shared', () => {
    expect(open().isShared).to.equal(true)
  })

  it('tells one process what another one ended', async () => {
    const key = randomUUID()
    await open().revoke([key], 1000, later())
    expect(await open().endedAt([key])).to.equal(1000)
  })

  it('says once to one of many at once that it is the first', async () => {
    const wanted = Array.from({ length: 50 }, () => randomUUID())
    const stores = [open(), open(), open()]
    const answers = await Promise.all(
      wanted.flatMap((key) => stores.map(async (store) => [key, await store.once?.(key, later())] as const)),
    )
    const first = answers.filter(([, isFirst]) => isFirst).map(([key]) => key)
    expect(first.toSorted()).to.deep.equal(wanted.toSorted())
  })

  it('says so again for what was taken back', async () => {
    const key = randomUUID()
    const store = open()
    expect(await store.once?.(key, later())).to.equal(true)
    await open().release?.(key)
    expect(await store.once?.(key, later())).to.equal(true)
    expect(await store.once?.(key, later())).to.equal(false)
  })

  it('does not take what was used for what has ended', async () => {
    const key = randomUUID()
    const store = open()
    await store.once?.(key, later())
    expect(await store.endedAt([key])).to.equal(undefined)
  })
}
