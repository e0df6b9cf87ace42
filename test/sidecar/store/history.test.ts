import { expect } from 'chai'
import type { AppendOutcome, Store } from '../../../sidecar/messages/store.ts'
import { agreesWithModel, duplicatesContract } from './contract/duplicates.contract.ts'
import { historyContract } from './contract/history.contract.ts'
import { message, newer, register, rejection, SETTINGS, temporaryStores } from './temporary-stores.ts'

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
    it('writes nothing down of what the ring drops when no copy of it can come any more, and forgets the rest in time', async () => {
      await store.close()
      const { store: small, connection } = await stores.openOver({ history: { ...SETTINGS.history, perStation: 1 } })
      store = small
      const dropped = async () =>
        (await connection.all<{ seq_id: string }>('SELECT seq_id FROM dropped')).map(({ seq_id }) => seq_id)
      const append = (seqId: string) => store.history.append([message('a', { seqId })], false)
      await append('1')
      await append('')
      expect(await dropped()).to.deep.equal(['1'])
      stores.clock.set(stores.clock.now() + 30_000)
      await append('2')
      stores.clock.set(stores.clock.now() + 120 * MINUTE)
      await append('3')
      expect(await dropped()).to.deep.equal(['1'])
      await append('4')
      expect(await dropped()).to.deep.equal(['1', '3'])
      await store.housekeeping.tidy(new AbortController().signal)
      expect(await dropped()).to.deep.equal(['3'])
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
