import { expect } from 'chai'
import type { AppendOutcome, Store } from '../../../../sidecar/messages/store.ts'
import { message, newer, register, SETTINGS, texts } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

/** What every history does, whatever it is kept in. To be called inside a `describe`. */
export function historyContract(stores: ContractStores): void {
  let store: Store
  beforeEach(async () => {
    store = await stores.open()
    await register(store, 'N0CALL', 'W1AW')
  })

  async function reopenedWith(perStation: number): Promise<void> {
    await store.close()
    store = await stores.open({ history: { ...SETTINGS.history, perStation } })
  }

  const kinds = (outcomes: readonly AppendOutcome[]) => outcomes.map((outcome) => outcome.kind)
  const held = async (station = 'N0CALL') => texts((await newer(store, station)).messages)

  it('keeps a message to the byte', async () => {
    const strange = { from: 'Ä\u{1F4E1}', seqId: '\0"\\\n', text: Buffer.from([...Array(256).keys()]) }
    const [outcome] = await store.history.append([message('', strange)], false)
    const [stored] = (await newer(store, 'N0CALL')).messages
    expect(stored).to.deep.include({ ...strange, to: 'N0CALL' })
    expect(outcome).to.deep.equal({ kind: 'stored', message: stored, ack: false })
  })

  it('keeps an empty text and an empty sequence id', async () => {
    await store.history.append([message('', { seqId: '' })], false)
    const [stored] = (await newer(store, 'N0CALL')).messages
    expect(stored).to.deep.include({ seqId: '', text: Buffer.alloc(0) })
  })

  it('gives each of a batch its own stamp, in order, and tells per message what became of it', async () => {
    const batch = [
      message('a'),
      message('b', { to: 'W1AW' }),
      message('a'),
      message('c', { to: 'K9NONE' }),
      message('d'),
    ]
    const outcomes = await store.history.append(batch, false)
    expect(kinds(outcomes)).to.deep.equal(['stored', 'stored', 'duplicate', 'no_station', 'stored'])
    const times = outcomes.flatMap((outcome) => (outcome.kind === 'stored' ? [outcome.message.time] : []))
    expect(times).to.deep.equal([...times].sort((a, b) => a - b))
    expect(new Set(times).size).to.equal(3)
    expect(await held()).to.deep.equal(['a', 'd'])
    expect(await held('W1AW')).to.deep.equal(['b'])
    expect(await store.history.append([], false)).to.deep.equal([])
  })

  it('hands each caller of one transaction the outcomes of its own messages', async () => {
    const answers = await Promise.all([
      store.history.append([message('a'), message('b')], false),
      store.history.append([message('b')], false),
      store.history.append([message('c'), message('a'), message('d')], false),
    ])
    expect(answers.map(kinds)).to.deep.equal([['stored', 'stored'], ['duplicate'], ['stored', 'duplicate', 'stored']])
  })

  it('returns what is strictly newer than the cursor, oldest first', async () => {
    const outcomes = await store.history.append([message('a'), message('b'), message('c')], false)
    const cursor = outcomes[1]?.kind === 'stored' ? outcomes[1].message.time : 0
    const answer = await newer(store, 'N0CALL', cursor)
    expect(texts(answer.messages)).to.deep.equal(['c'])
    expect(answer.serverTime).to.be.greaterThan(answer.messages[0]!.time)
    expect((await newer(store, 'N0CALL', answer.serverTime)).messages).to.deep.equal([])
    expect(await store.history.since('K9NONE', 0)).to.equal(undefined)
  })

  it('lets a sync that was asked for beside an append see it, or find it at the next cursor', async () => {
    const [, answer] = await Promise.all([store.history.append([message('a')], false), newer(store, 'N0CALL')])
    const next = await newer(store, 'N0CALL', answer.serverTime)
    expect([...texts(answer.messages), ...texts(next.messages)]).to.deep.equal(['a'])
  })

  describe('as a ring', () => {
    it('keeps the newest 50 of each station', async () => {
      for (let start = 0; start < 120; start += 40) {
        await store.history.append(
          Array.from({ length: 40 }, (_, index) => message(`text ${start + index}`)),
          false,
        )
      }
      await store.history.append([message('other', { to: 'W1AW' })], false)
      expect(await held()).to.deep.equal(Array.from({ length: 50 }, (_, index) => `text ${70 + index}`))
      expect(await held('W1AW')).to.deep.equal(['other'])
    })

    it('stores more than fits in one batch, and keeps its end', async () => {
      const outcomes = await store.history.append(
        Array.from({ length: 60 }, (_, index) => message(`text ${index}`)),
        false,
      )
      expect(new Set(kinds(outcomes))).to.deep.equal(new Set(['stored']))
      expect((await held())[0]).to.equal('text 10')
      expect((await held()).length).to.equal(50)
    })

    it('follows a smaller and a larger setting at the next start', async () => {
      const batch = ['a', 'b', 'c', 'd'].map((text) => message(text))
      await store.history.append([...batch, message('z', { to: 'W1AW' })], false)
      await reopenedWith(2)
      expect(await held()).to.deep.equal(['c', 'd'])
      expect(await held('W1AW')).to.deep.equal(['z'])
      await reopenedWith(3)
      await store.history.append([message('e'), message('f')], false)
      expect(await held()).to.deep.equal(['d', 'e', 'f'])
    })
  })

  it('stores nothing for a station that is removed, and gives nothing of what it had to one that registers anew', async () => {
    await store.history.append([message('before')], false)
    expect(await store.stations.remove('N0CALL')).to.equal(true)
    const outcomes = await store.history.append([message('after'), message('other', { to: 'W1AW' })], false)
    expect(kinds(outcomes)).to.deep.equal(['no_station', 'stored'])
    expect(await store.history.since('N0CALL', 0)).to.equal(undefined)
    await register(store, 'N0CALL')
    expect(await held()).to.deep.equal([])
  })
}
