import { expect } from 'chai'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { append, held, kindsOf, message, newer, register, SETTINGS, texts } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

/** The contract of every history. Call it inside a `describe`. */
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

  it('the history stores sender, sequence id and text byte for byte', async () => {
    const strange = { from: 'Ä\u{1F4E1}', seqId: '\0"\\\n', text: Buffer.from([...Array(256).keys()]) }
    const [outcome] = await append(store, message('', strange))
    const [stored] = (await newer(store, 'N0CALL')).messages
    expect(stored).to.deep.include({ ...strange, to: 'N0CALL' })
    expect(outcome).to.deep.equal({ kind: 'stored', message: stored, ack: false })
  })

  it('the history keeps an empty text and an empty sequence id', async () => {
    await append(store, message('', { seqId: '' }))
    const [stored] = (await newer(store, 'N0CALL')).messages
    expect(stored).to.deep.include({ seqId: '', text: Buffer.alloc(0) })
  })

  // Shows: sidecar C4.8.
  it('stamps the messages of a batch in order, and returns an outcome for each message', async () => {
    const [b, c] = [message('b', { to: 'W1AW' }), message('c', { to: 'K9NONE' })]
    const outcomes = await append(store, 'a', b, 'a', c, 'd')
    expect(outcomes.map((item) => item.kind)).to.deep.equal(['stored', 'stored', 'duplicate', 'no_station', 'stored'])
    const times = outcomes.flatMap((outcome) => (outcome.kind === 'stored' ? [outcome.message.stamp] : []))
    expect(times).to.deep.equal([...times].sort((a, b) => a - b))
    expect(new Set(times).size).to.equal(3)
    expect(await held(store)).to.deep.equal(['a', 'd'])
    expect(await held(store, 'W1AW')).to.deep.equal(['b'])
    expect(await append(store)).to.deep.equal([])
  })

  it('callers that share a transaction each get their own outcomes', async () => {
    const answers = await Promise.all([kindsOf(store, 'a', 'b'), kindsOf(store, 'b'), kindsOf(store, 'c', 'a', 'd')])
    expect(answers).to.deep.equal([['stored', 'stored'], ['duplicate'], ['stored', 'duplicate', 'stored']])
  })

  // Shows: sidecar 2.8, 2.16, 4.2, 4.3, 6.3, 12.2, 12.3, 17.5, C4.1, C4.9.
  it('the history returns messages strictly newer than the cursor, oldest first', async () => {
    const outcomes = await append(store, 'a', 'b', 'c')
    const cursor = outcomes[1]?.kind === 'stored' ? outcomes[1].message.stamp : 0
    const answer = await newer(store, 'N0CALL', cursor)
    expect(texts(answer.messages)).to.deep.equal(['c'])
    expect(answer.answerStamp).to.equal(answer.messages[0]!.stamp)
    expect((await newer(store, 'N0CALL', answer.answerStamp)).messages).to.deep.equal([])
    expect(await store.history.since('K9NONE', '', 0)).to.equal(undefined)
  })

  it('returns the messages after the stamp "from", even if the cursor differs', async () => {
    const [first, second] = (await append(store, 'a', 'b')).map((item) =>
      item.kind === 'stored' ? item.message.stamp : 0,
    )
    for (const [since, from, expected] of [
      [0, first, ['b']],
      [first, 0, ['a', 'b']],
      [0, second, []],
    ] as const) {
      const answer = await store.history.since('N0CALL', '', since ?? 0, from)
      expect(texts(answer?.messages ?? [])).to.deep.equal(expected)
      expect(answer?.answerStamp).to.equal(second)
      expect(answer?.newest).to.equal(second)
    }
  })

  it('a message stored during a sync appears in that sync or in the next', async () => {
    const [, answer] = await Promise.all([append(store, 'a'), newer(store, 'N0CALL')])
    const next = await newer(store, 'N0CALL', answer.answerStamp)
    expect([...texts(answer.messages), ...texts(next.messages)]).to.deep.equal(['a'])
  })

  describe('The history as a ring buffer', () => {
    // Shows: sidecar 2.5, 3.7, 16.4, 21.1, C4.18.
    it('the ring buffer keeps the newest 50 messages of each station', async () => {
      const numbered = (from: number, count: number) =>
        Array.from({ length: count }, (_, index) => `text ${from + index}`)
      // The last batch is larger than the ring.
      for (const [from, count] of [
        [0, 40],
        [40, 40],
        [80, 60],
      ] as const)
        expect(new Set(await kindsOf(store, ...numbered(from, count)))).to.deep.equal(new Set(['stored']))
      await append(store, message('other', { to: 'W1AW' }))
      expect(await held(store)).to.deep.equal(numbered(90, 50))
      expect(await held(store, 'W1AW')).to.deep.equal(['other'])
    })

    // Shows: sidecar C1.13.
    it('a restart applies a new ring size, and restores no messages dropped before', async () => {
      await append(store, 'a', 'b', 'c', 'd', message('z', { to: 'W1AW' }))
      for (const [perStation, stored, expected] of [
        [2, [], ['c', 'd']],
        [5, ['e'], ['c', 'd', 'e']],
        [3, ['f'], ['d', 'e', 'f']],
        [9, [], ['d', 'e', 'f']],
      ] as const) {
        await reopenedWith(perStation)
        await append(store, ...stored)
        expect(await held(store)).to.deep.equal(expected)
      }
      expect(await held(store, 'W1AW')).to.deep.equal(['z'])
    })

    // Shows: sidecar C4.31.
    it('returns the stamp of the newest dropped message, even after the ring is resized', async () => {
      const dropped = async () => (await store.history.since('N0CALL', '', 0))?.newestDropped
      const stampsOf = async (...stored: readonly string[]) =>
        (await append(store, ...stored)).map((outcome) => (outcome.kind === 'stored' ? outcome.message.stamp : 0))
      await reopenedWith(3)
      const [a, b] = await stampsOf('a', 'b', 'c')
      expect(await dropped()).to.equal(0)
      const [d] = await stampsOf('d')
      expect(await dropped()).to.equal(a)
      await stampsOf('e')
      for (const perStation of [3, 9]) {
        await reopenedWith(perStation)
        expect(await dropped()).to.equal(b)
      }
      await reopenedWith(1)
      expect(await dropped()).to.equal(d)
    })

    // Shows: sidecar C4.31.
    it('a message that one batch both stores and drops counts as the newest dropped one', async () => {
      await reopenedWith(2)
      const stamps = (await append(store, 'a', 'b', 'c', 'd', 'e')).map((outcome) =>
        outcome.kind === 'stored' ? outcome.message.stamp : 0,
      )
      const { newestDropped = 0 } = (await store.history.since('N0CALL', '', 0)) ?? {}
      expect(newestDropped)
        .to.be.at.least(stamps[2] ?? 0)
        .and.below(stamps[3] ?? 0)
      expect(await held(store, 'N0CALL', newestDropped)).to.deep.equal(['d', 'e'])
    })

    // Shows: sidecar C4.31.
    it('returns the stamp of the newest dropped message, even after duplicateMinutes', async () => {
      await reopenedWith(1)
      const [outcome] = await append(store, 'a', 'b')
      await stores.shift(SETTINGS.history.duplicateMinutes * 60_000)
      await store.housekeeping.tidy(new AbortController().signal)
      for (const perStation of [1, 2]) {
        await reopenedWith(perStation)
        const { newestDropped } = (await store.history.since('N0CALL', '', 0)) ?? {}
        expect(newestDropped).to.equal(outcome?.kind === 'stored' ? outcome.message.stamp : 0)
      }
    })
  })

  it('a removed station gets no messages, and starts empty if it registers again', async () => {
    await append(store, 'before')
    expect(await store.stations.remove('N0CALL')).to.equal('station')
    expect(await kindsOf(store, 'after', message('other', { to: 'W1AW' }))).to.deep.equal(['no_station', 'stored'])
    expect(await store.history.since('N0CALL', '', 0)).to.equal(undefined)
    await register(store, 'N0CALL')
    expect(await held(store)).to.deep.equal([])
  })
}
