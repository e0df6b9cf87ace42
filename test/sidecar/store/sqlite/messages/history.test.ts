import { expect } from 'chai'
import type { AppendOutcome, Store } from '../../../../../sidecar/messages/store.ts'
import { agreesWithModel, duplicatesContract } from '../../contract/duplicates.contract.ts'
import { historyContract } from '../../contract/history.contract.ts'
import { message, newer, register, rejection, SETTINGS, temporaryStores, texts } from '../temporary-stores.ts'

const MINUTE = 60_000
const IN_MEMORY = ':memory:'

describe('The history', () => historyContract(temporaryStores()))
describe('The history of duplicates', () => duplicatesContract(temporaryStores()))

describe('The history in SQLite', () => {
  const stores = temporaryStores()
  let store: Store
  beforeEach(async () => {
    store = await stores.open()
    await register(store, 'N0CALL', 'W1AW')
  })

  async function reopenedWith(perStation: number): Promise<Store> {
    await store.close()
    store = await stores.open({ history: { ...SETTINGS.history, perStation } })
    return store
  }

  const kinds = (outcomes: readonly AppendOutcome[]) => outcomes.map((outcome) => outcome.kind)

  describe('of duplicates', () => {
    it('keeps what the ring drops until no copy of it can come any more', async () => {
      await store.close()
      const { store: small, connection } = await stores.openOver({ history: { ...SETTINGS.history, perStation: 1 } })
      store = small
      const kept = async () => {
        await store.housekeeping.tidy(new AbortController().signal)
        return (await connection.all<{ text: string }>('SELECT text FROM message')).map(({ text }) => `${text}`)
      }
      await store.history.append([message('a'), message('b')], false)
      await stores.clock.advance(60 * MINUTE)
      await store.history.append([message('c')], false)
      expect(await kept()).to.deep.equal(['a', 'b', 'c'])
      await stores.clock.advance(60 * MINUTE)
      expect(await kept()).to.deep.equal(['b', 'c'])
      await stores.clock.advance(60 * MINUTE)
      expect(await kept()).to.deep.equal(['c'])
    })

    it('leaves nothing in the file behind a clock that was far ahead for a while', async () => {
      await reopenedWith(1)
      const now = stores.clock.now()
      stores.clock.set(now + 30 * 24 * 60 * MINUTE)
      await store.history.append([message('a'), message('b')], false)
      stores.clock.set(now)
      await store.housekeeping.tidy(new AbortController().signal)
      await reopenedWith(2)
      expect((await newer(store, 'N0CALL')).messages).to.have.length(1)
      expect(kinds(await store.history.append([message('a')], false))).to.deep.equal(['stored'])
    })

    it('knows nothing of a message whose transaction failed', async () => {
      await store.close()
      const { store: opened, connection } = await stores.openOver()
      store = opened
      await connection.exec(`
        CREATE TEMP TRIGGER no_more BEFORE INSERT ON message BEGIN SELECT RAISE(ABORT, 'no'); END`)
      await rejection(store.history.append([message('a')], false))
      await connection.exec('DROP TRIGGER no_more')
      expect(kinds(await store.history.append([message('a'), message('a')], false))).to.deep.equal([
        'stored',
        'duplicate',
      ])
    })

    it('has nothing to do with an earlier registration of the station, in the same transaction either', async () => {
      await reopenedWith(1)
      const both = [message('a'), message('b')]
      await store.history.append(both, false)
      const [, , outcomes] = await Promise.all([
        store.stations.remove('N0CALL'),
        register(store, 'N0CALL'),
        store.history.append(both, false),
      ])
      expect(kinds(outcomes)).to.deep.equal(['stored', 'stored'])
      await store.stations.remove('N0CALL')
      await reopenedWith(1)
      await register(store, 'N0CALL')
      expect(kinds(await store.history.append(both, false))).to.deep.equal(['stored', 'stored'])
    })

    it('agrees with a plain model in memory too, with a clock that goes back', async () => {
      await store.close()
      const inMemory = {
        open: (settings = {}) => stores.open(settings, IN_MEMORY),
        wipe: async () => {},
        now: stores.now,
        shift: stores.shift,
        slackMs: 0,
        lines: [],
      }
      await agreesWithModel(inMemory, { restarts: false, runs: 50 })
    })
  })

  describe('and a ring that is larger than at the last start', () => {
    it('has no gaps: what a smaller one has dropped does not come back, and is known as what copies are of', async () => {
      await reopenedWith(2)
      const said = (
        await store.history.append(
          ['a', 'b', 'c', 'd'].map((text) => message(text)),
          false,
        )
      ).length
      await reopenedWith(5)
      expect([said, texts((await newer(store, 'N0CALL')).messages)]).to.deep.equal([4, ['c', 'd']])
      await store.history.append([message('e')], false)
      await reopenedWith(3)
      expect(texts((await newer(store, 'N0CALL')).messages)).to.deep.equal(['c', 'd', 'e'])
      await reopenedWith(9)
      expect(texts((await newer(store, 'N0CALL')).messages)).to.deep.equal(['c', 'd', 'e'])
      const again = ['a', 'b', 'c', 'd', 'e'].map((text) => message(text))
      expect(new Set(kinds(await store.history.append(again, false)))).to.deep.equal(new Set(['duplicate']))
    })
  })

  describe('and a transaction that fails', () => {
    it('leaves the rings as they were, dropped and removed messages included', async () => {
      await store.close()
      const { store: small, connection } = await stores.openOver({ history: { ...SETTINGS.history, perStation: 2 } })
      store = small
      await store.history.append([message('a'), message('b'), message('c')], false)
      await connection.exec(`
        CREATE TEMP TRIGGER no_more BEFORE INSERT ON message WHEN NEW.text = x'78' BEGIN SELECT RAISE(ABORT, 'no'); END`)
      const fails = [message('d'), message('e', { to: 'W1AW' }), message('x', { to: 'W1AW' })]
      await rejection(store.history.append(fails, false))
      expect(texts((await newer(store, 'N0CALL')).messages)).to.deep.equal(['b', 'c'])
      expect((await newer(store, 'W1AW')).messages).to.deep.equal([])
      // Together with what is at fault, each is done again alone.
      const [removed, registered] = await Promise.all([
        store.stations.remove('N0CALL'),
        register(store, 'N0CALL'),
        rejection(store.history.append([message('f'), ...fails], false)),
      ])
      expect([removed, registered[0]?.kind]).to.deep.equal([true, 'created'])
      expect((await newer(store, 'N0CALL')).messages).to.deep.equal([])
      await store.history.append([message('g'), message('h'), message('i')], false)
      await reopenedWith(2)
      expect(texts((await newer(store, 'N0CALL')).messages)).to.deep.equal(['h', 'i'])
    })
  })

  describe('and a station that is removed', () => {
    it('stores nothing for it afterwards, in the same transaction either', async () => {
      const [before, removed, after] = await Promise.all([
        store.history.append([message('before')], false),
        store.stations.remove('N0CALL'),
        store.history.append([message('after'), message('other', { to: 'W1AW' })], false),
      ])
      expect(kinds(before)).to.deep.equal(['stored'])
      expect(removed).to.equal(true)
      expect(kinds(after)).to.deep.equal(['no_station', 'stored'])
      await register(store, 'N0CALL')
      expect((await newer(store, 'N0CALL')).messages).to.deep.equal([])
    })

    it('stores for one that registers in the same transaction', async () => {
      const [, outcomes] = await Promise.all([
        register(store, 'K9NEW'),
        store.history.append([message('welcome', { to: 'K9NEW' })], false),
      ])
      expect(kinds(outcomes)).to.deep.equal(['stored'])
    })
  })
})
