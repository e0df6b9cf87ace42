import { expect } from 'chai'
import type { Store } from '../../../../../sidecar/messages/store.ts'
import { agreesWithModel, duplicatesContract } from '../../contract/duplicates.contract.ts'
import { historyContract } from '../../contract/history.contract.ts'
import {
  append,
  held,
  kindsOf,
  message,
  register,
  rejection,
  SETTINGS,
  type TemporaryStores,
  temporaryStores,
} from '../temporary-stores.ts'

const MINUTE = 60_000
const NEVER = new AbortController().signal

describe('The history of messages', () => historyContract(temporaryStores()))
describe('The duplicates in the history', () => duplicatesContract(temporaryStores(), 15))

describe('The history in SQLite', () => {
  const stores = temporaryStores()
  let store: Store
  let connection: Awaited<ReturnType<TemporaryStores['openOver']>>['connection']

  async function openWith(perStation: number): Promise<void> {
    await store?.close()
    ;({ store, connection } = await stores.openOver({ history: { ...SETTINGS.history, perStation } }))
    if (store.stations.size === 0) await register(store, 'N0CALL', 'W1AW')
  }

  // Shows: sidecar C4.23.
  it('keeps a dropped message in the database as long as duplicates of it can arrive', async () => {
    await openWith(1)
    const stored = async () => {
      await store.housekeeping.tidy(NEVER)
      return (await connection.all<{ text: string }>('SELECT text FROM message')).map(({ text }) => `${text}`)
    }
    await append(store, 'a', 'b')
    await stores.clock.advance(60 * MINUTE)
    await append(store, 'c')
    expect(await stored()).to.deep.equal(['a', 'b', 'c'])
    await stores.clock.advance(60 * MINUTE)
    expect(await stored()).to.deep.equal(['b', 'c'])
    await stores.clock.advance(60 * MINUTE)
    expect(await stored()).to.deep.equal(['c'])
  })

  it('deletes dropped messages with future stamps, which a wrong clock caused', async () => {
    await openWith(1)
    const now = stores.clock.now()
    stores.clock.set(now + 30 * 24 * 60 * MINUTE)
    await append(store, 'a', 'b')
    stores.clock.set(now)
    await store.housekeeping.tidy(NEVER)
    await openWith(2)
    expect(await held(store)).to.have.length(1)
    expect(await kindsOf(store, 'a')).to.deep.equal(['stored'])
  })

  it('recognizes duplicates of messages dropped when a start shrinks the ring', async () => {
    const sent = ['a', 'b', 'c', 'd']
    await openWith(5)
    await append(store, ...sent)
    for (const perStation of [2, 5]) await openWith(perStation)
    expect(new Set(await kindsOf(store, ...sent))).to.deep.equal(new Set(['duplicate']))
  })

  it('a store in memory matches a reference model even if the clock is set back', () =>
    agreesWithModel(
      {
        ...stores,
        now: stores.now,
        lines: [],
        wipe: async () => {},
        open: (settings) => stores.open(settings, ':memory:'),
      },
      { restarts: false, runs: 15 },
    ))

  it('a failed transaction leaves ring buffers and known duplicates as they were', async () => {
    await openWith(2)
    await append(store, 'a', 'b', 'c')
    await connection.exec(`
      CREATE TEMP TRIGGER no_more BEFORE INSERT ON message WHEN NEW.text = x'78' BEGIN SELECT RAISE(ABORT, 'no'); END`)
    const fails = [message('d'), message('e', { to: 'W1AW' }), message('x', { to: 'W1AW' })]
    await rejection(append(store, ...fails))
    expect(await held(store)).to.deep.equal(['b', 'c'])
    expect(await held(store, 'W1AW')).to.deep.equal([])
    // If writes share a transaction with failing messages, each write is retried alone.
    const [removed, registered] = await Promise.all([
      store.stations.remove('N0CALL'),
      register(store, 'N0CALL'),
      rejection(append(store, 'f', ...fails)),
    ])
    expect(removed).to.equal('station')
    expect(registered[0]?.kind).to.equal('created')
    expect(await held(store)).to.deep.equal([])
    expect(await kindsOf(store, 'd', 'd', 'h', 'i')).to.deep.equal(['stored', 'duplicate', 'stored', 'stored'])
    await openWith(2)
    expect(await held(store)).to.deep.equal(['h', 'i'])
  })

  it('applies registrations, removals and messages of one transaction in order', async () => {
    await openWith(1)
    const to = (key: string) => message('for another', { to: key })
    const [first, , removed, later, , anew] = await Promise.all([
      kindsOf(store, 'a', 'b'),
      register(store, 'K9NEW'),
      store.stations.remove('N0CALL'),
      kindsOf(store, 'c', to('W1AW'), to('K9NEW')),
      register(store, 'N0CALL'),
      kindsOf(store, 'a', 'b'),
    ])
    expect(first).to.deep.equal(['stored', 'stored'])
    expect(removed).to.equal('station')
    expect(later).to.deep.equal(['no_station', 'stored', 'stored'])
    expect(anew).to.deep.equal(['stored', 'stored'])
    expect(await held(store)).to.deep.equal(['b'])
    await store.stations.remove('N0CALL')
    await openWith(1)
    await register(store, 'N0CALL')
    expect(await held(store)).to.deep.equal([])
    expect(await kindsOf(store, 'a', 'b')).to.deep.equal(['stored', 'stored'])
  })
})
