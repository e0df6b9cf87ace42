import { expect } from 'chai'
import fc from 'fast-check'
import type { AppendOutcome, Store } from '../../../sidecar/messages/store.ts'
import { message, register, temporaryStores, texts } from './temporary-stores.ts'

const HOUR = 3_600_000

describe('The history', () => {
  const stores = temporaryStores()
  let store: Store
  beforeEach(async () => {
    store = await stores.open()
    await register(store, 'N0CALL', 'W1AW')
  })

  async function reopenedWith(perStation: number, duplicateHours: number | null = 12): Promise<Store> {
    await store.close()
    store = await stores.open({ history: { perStation, duplicateHours } })
    return store
  }

  const kinds = (outcomes: readonly AppendOutcome[]) => outcomes.map((outcome) => outcome.kind)
  const held = async (station = 'N0CALL') => texts((await store.history.since(station, 0)).messages)

  it('keeps a message to the byte', async () => {
    const strange = { from: 'Ä\u{1F4E1}', seqId: '\0"\\\n', text: Buffer.from([...Array(256).keys()]) }
    const [outcome] = await store.history.append([message('', strange)])
    const [stored] = (await store.history.since('N0CALL', 0)).messages
    expect(stored).to.deep.include({ ...strange, to: 'N0CALL' })
    expect(outcome).to.deep.equal({ kind: 'stored', message: stored })
    expect((await store.history.unpushed('N0CALL'))?.newest).to.deep.equal(stored)
  })

  it('keeps an empty text and an empty sequence id', async () => {
    await store.history.append([message('', { seqId: '' })])
    const [stored] = (await store.history.since('N0CALL', 0)).messages
    expect(stored).to.deep.include({ seqId: '', text: Buffer.alloc(0) })
    expect((await store.history.unpushed('N0CALL'))?.newest.text).to.deep.equal(Buffer.alloc(0))
  })

  it('gives each of a batch its own stamp, in order, and tells per message what became of it', async () => {
    const batch = [
      message('a'),
      message('b', { to: 'W1AW' }),
      message('a'),
      message('c', { to: 'K9NONE' }),
      message('d'),
    ]
    const outcomes = await store.history.append(batch)
    expect(kinds(outcomes)).to.deep.equal(['stored', 'stored', 'duplicate', 'no_station', 'stored'])
    const times = outcomes.flatMap((outcome) => (outcome.kind === 'stored' ? [outcome.message.time] : []))
    expect(times).to.deep.equal([...times].sort((a, b) => a - b))
    expect(new Set(times).size).to.equal(3)
    expect(await held()).to.deep.equal(['a', 'd'])
    expect(await held('W1AW')).to.deep.equal(['b'])
    expect(await store.history.append([])).to.deep.equal([])
  })

  it('hands each caller of one transaction the outcomes of its own messages', async () => {
    const answers = await Promise.all([
      store.history.append([message('a'), message('b')]),
      store.history.append([message('b')]),
      store.history.append([message('c'), message('a'), message('d')]),
    ])
    expect(answers.map(kinds)).to.deep.equal([['stored', 'stored'], ['duplicate'], ['stored', 'duplicate', 'stored']])
  })

  it('returns what is strictly newer than the cursor, oldest first', async () => {
    const outcomes = await store.history.append([message('a'), message('b'), message('c')])
    const cursor = outcomes[1]?.kind === 'stored' ? outcomes[1].message.time : 0
    const answer = await store.history.since('N0CALL', cursor)
    expect(texts(answer.messages)).to.deep.equal(['c'])
    expect(answer.serverTime).to.be.greaterThan(answer.messages[0]!.time)
    expect((await store.history.since('N0CALL', answer.serverTime)).messages).to.deep.equal([])
    expect((await store.history.since('K9NONE', 0)).messages).to.deep.equal([])
  })

  it('lets a sync that was asked for beside an append see it, or find it at the next cursor', async () => {
    const [, answer] = await Promise.all([store.history.append([message('a')]), store.history.since('N0CALL', 0)])
    const next = await store.history.since('N0CALL', answer.serverTime)
    expect([...texts(answer.messages), ...texts(next.messages)]).to.deep.equal(['a'])
  })

  describe('of duplicates', () => {
    it('takes sender, addressee, sequence id and text together', async () => {
      const outcomes = await store.history.append([
        message('a'),
        message('a', { from: 'W1AW-1' }),
        message('a', { to: 'W1AW' }),
        message('a', { seqId: '2' }),
        message('A'),
        message('a'),
      ])
      expect(kinds(outcomes)).to.deep.equal(['stored', 'stored', 'stored', 'stored', 'stored', 'duplicate'])
    })

    it('knows them over a restart', async () => {
      await store.history.append([message('a')])
      await reopenedWith(50)
      expect(kinds(await store.history.append([message('a')]))).to.deep.equal(['duplicate'])
    })

    it('forgets them at the configured age to the millisecond, counted from the copy that was stored', async () => {
      const start = stores.clock.now() + 1000 // past the stamps of the registrations
      const kindAt = async (ms: number) => {
        stores.clock.set(start + ms)
        return kinds(await store.history.append([message('a'), message('a')]))
      }
      expect(await kindAt(0)).to.deep.equal(['stored', 'duplicate'])
      expect(await kindAt(12 * HOUR - 2)).to.deep.equal(['duplicate', 'duplicate'])
      expect(await kindAt(12 * HOUR)).to.deep.equal(['stored', 'duplicate'])
    })

    it('knows them however old when there are no such hours', async () => {
      await reopenedWith(50, null)
      await store.history.append([message('a')])
      stores.clock.set(stores.clock.now() + 10_000 * HOUR)
      expect(kinds(await store.history.append([message('a')]))).to.deep.equal(['duplicate'])
    })

    it('stores a message again that the ring has dropped, within one batch too', async () => {
      await reopenedWith(2)
      const batch = ['a', 'b', 'a', 'c', 'a', 'c'].map((text) => message(text))
      const expected = ['stored', 'stored', 'duplicate', 'stored', 'stored', 'duplicate']
      expect(kinds(await store.history.append(batch))).to.deep.equal(expected)
      expect(await held()).to.deep.equal(['c', 'a'])
    })

    it('agrees with a plain model for any sequence of batches', async () => {
      const draft = fc.record({
        from: fc.constantFrom('A', 'B'),
        to: fc.constantFrom('N0CALL', 'W1AW', 'K9NONE'),
        seqId: fc.constantFrom('', '1'),
        text: fc.constantFrom('x', 'y').map((text) => Buffer.from(text)),
      })
      const step = fc.record({
        laterByHours: fc.constantFrom(0, 0, 7),
        calls: fc.array(fc.array(draft, { maxLength: 6 }), { minLength: 1, maxLength: 3 }),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
          await store.close()
          const fresh = await stores.open({ history: { perStation: 3, duplicateHours: 12 } }, ':memory:')
          await register(fresh, 'N0CALL', 'W1AW')
          const rings = new Map<string, { identity: string; at: number }[]>([
            ['N0CALL', []],
            ['W1AW', []],
          ])
          for (const { laterByHours, calls } of steps) {
            stores.clock.set(stores.clock.now() + laterByHours * HOUR)
            const answers = await Promise.all(calls.map((call) => fresh.history.append(call)))
            for (const [index, { from, to, seqId, text }] of calls.flat().entries()) {
              const identity = `${from} ${seqId} ${text}`
              const ring = rings.get(to)
              const now = stores.clock.now()
              const known = ring?.some((one) => one.identity === identity && now - one.at < 12 * HOUR - 1000)
              if (ring && !known) ring.push({ identity, at: now })
              if (ring && ring.length > 3) ring.shift()
              expect(answers.flat()[index]?.kind).to.equal(ring ? (known ? 'duplicate' : 'stored') : 'no_station')
            }
          }
          for (const [station, ring] of rings) {
            const { messages } = await fresh.history.since(station, 0)
            const identities = messages.map(({ from, seqId, text }) => `${from} ${seqId} ${text}`)
            expect(identities).to.deep.equal(ring.map((one) => one.identity))
          }
          await fresh.close()
        }),
        { numRuns: 100 },
      )
    })
  })

  describe('as a ring', () => {
    it('keeps the newest 50 of each station', async () => {
      for (let start = 0; start < 120; start += 40) {
        await store.history.append(Array.from({ length: 40 }, (_, index) => message(`text ${start + index}`)))
      }
      await store.history.append([message('other', { to: 'W1AW' })])
      expect(await held()).to.deep.equal(Array.from({ length: 50 }, (_, index) => `text ${70 + index}`))
      expect(await held('W1AW')).to.deep.equal(['other'])
    })

    it('stores more than fits in one batch, and keeps its end', async () => {
      const outcomes = await store.history.append(Array.from({ length: 60 }, (_, index) => message(`text ${index}`)))
      expect(new Set(kinds(outcomes))).to.deep.equal(new Set(['stored']))
      expect((await held())[0]).to.equal('text 10')
      expect((await held()).length).to.equal(50)
    })

    it('follows a smaller and a larger setting at the next start', async () => {
      const batch = ['a', 'b', 'c', 'd'].map((text) => message(text))
      await store.history.append([...batch, message('z', { to: 'W1AW' })])
      await reopenedWith(2)
      expect(await held()).to.deep.equal(['c', 'd'])
      expect(await held('W1AW')).to.deep.equal(['z'])
      await reopenedWith(3)
      await store.history.append([message('e'), message('f')])
      expect(await held()).to.deep.equal(['d', 'e', 'f'])
    })
  })

  describe('and a station that is removed', () => {
    it('stores nothing for it afterwards, in the same transaction either', async () => {
      const [before, removed, after] = await Promise.all([
        store.history.append([message('before')]),
        store.stations.remove('N0CALL'),
        store.history.append([message('after'), message('other', { to: 'W1AW' })]),
      ])
      expect(kinds(before)).to.deep.equal(['stored'])
      expect(removed).to.equal(true)
      expect(kinds(after)).to.deep.equal(['no_station', 'stored'])
      await register(store, 'N0CALL')
      expect(await held()).to.deep.equal([])
    })

    it('stores for one that registers in the same transaction', async () => {
      const [, outcomes] = await Promise.all([
        register(store, 'K9NEW'),
        store.history.append([message('welcome', { to: 'K9NEW' })]),
      ])
      expect(kinds(outcomes)).to.deep.equal(['stored'])
    })
  })

  describe('of what was pushed', () => {
    const timeOf = (outcome: AppendOutcome | undefined) => (outcome?.kind === 'stored' ? outcome.message.time : 0)

    it('counts what came after the last mark, with the newest of it', async () => {
      const outcomes = await store.history.append([message('a'), message('b'), message('c')])
      await store.history.markPushed('N0CALL', timeOf(outcomes[0]))
      const unpushed = await store.history.unpushed('N0CALL')
      expect(unpushed?.count).to.equal(2)
      expect(unpushed?.newest.text.toString()).to.equal('c')
      await store.history.markPushed('N0CALL', timeOf(outcomes[2]))
      expect(await store.history.unpushed('N0CALL')).to.equal(undefined)
      expect(await store.history.unpushed('K9NONE')).to.equal(undefined)
    })

    it('never moves the mark backwards, within one transaction either', async () => {
      const outcomes = await store.history.append([message('a'), message('b'), message('c')])
      const [a = 0, b = 0] = outcomes.map(timeOf)
      await Promise.all([store.history.markPushed('N0CALL', b), store.history.markPushed('N0CALL', a)])
      await store.history.markPushed('N0CALL', a)
      expect((await store.history.unpushed('N0CALL'))?.count).to.equal(1)
    })

    it('knows after a restart which stations still have something coming', async () => {
      await register(store, 'AAA', 'QUIET')
      const batch = ['W1AW', 'N0CALL', 'AAA'].map((to) => message('a', { to }))
      const outcomes = await store.history.append(batch)
      await store.history.markPushed('N0CALL', timeOf(outcomes[1]))
      await reopenedWith(50)
      expect(await store.history.stationsWithUnpushed()).to.deep.equal(['AAA', 'W1AW'])
    })
  })
})
