import { rm } from 'node:fs/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import type { AppendOutcome, Store } from '../../../sidecar/messages/store.ts'
import { message, newer, register, rejection, SETTINGS, temporaryStores, texts } from './temporary-stores.ts'

const MINUTE = 60_000
const DAY = 1440 * MINUTE
const IN_MEMORY = ':memory:'

describe('The history', () => {
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

  describe('of duplicates', () => {
    it('takes sender, addressee, sequence id and text together', async () => {
      const outcomes = await store.history.append(
        [
          message('a'),
          message('a', { from: 'W1AW-1' }),
          message('a', { to: 'W1AW' }),
          message('a', { seqId: '2' }),
          message('A'),
          message('a'),
        ],
        false,
      )
      expect(kinds(outcomes)).to.deep.equal(['stored', 'stored', 'stored', 'stored', 'stored', 'duplicate'])
    })

    it('knows them over a restart', async () => {
      await store.history.append([message('a')], false)
      await reopenedWith(50)
      expect(kinds(await store.history.append([message('a')], false))).to.deep.equal(['duplicate'])
    })

    for (const [what, seqId, horizon] of [
      ['a numbered message', '1', 120 * MINUTE],
      ['a message without a number', '', 30_000],
    ] as const) {
      it(`forgets ${what} at the configured age to the millisecond, counted from the copy that was stored`, async () => {
        const start = stores.clock.now()
        const kindAt = async (ms: number) => {
          stores.clock.set(start + ms)
          return kinds(await store.history.append([message('a', { seqId }), message('a', { seqId })], false))
        }
        expect(await kindAt(0)).to.deep.equal(['stored', 'duplicate'])
        expect(await kindAt(horizon - 1)).to.deep.equal(['duplicate', 'duplicate'])
        expect(await kindAt(horizon)).to.deep.equal(['stored', 'duplicate'])
      })
    }

    it('goes by the wall clock of then and now, never by stamps: a clock that was ahead leaves nothing behind', async () => {
      const real = stores.clock.now()
      const kindAt = async (time: number) => {
        stores.clock.set(time)
        return kinds(await store.history.append([message('a')], false))[0]
      }
      expect(await kindAt(real + 30 * DAY)).to.equal('stored')
      expect(await kindAt(real)).to.equal('stored')
      expect(await kindAt(real + 119 * MINUTE)).to.equal('duplicate')
      expect(await kindAt(real + DAY)).to.equal('stored')
      await reopenedWith(50)
      expect(await kindAt(real + DAY + 119 * MINUTE)).to.equal('duplicate')
      expect(await kindAt(real + 2 * DAY)).to.equal('stored')
    })

    it('takes a copy that lies ahead for one while it is less than the horizon ahead', async () => {
      const real = stores.clock.now()
      await store.history.append([message('a')], false)
      stores.clock.set(real - 119 * MINUTE)
      expect(kinds(await store.history.append([message('a')], false))).to.deep.equal(['duplicate'])
      stores.clock.set(real - 120 * MINUTE)
      expect(kinds(await store.history.append([message('a')], false))).to.deep.equal(['stored'])
    })

    it('knows them after a start before which the clock was wrong, as on a machine without a battery for it', async () => {
      const real = stores.clock.now()
      await store.history.append([message('a'), message('b', { to: 'W1AW' })], false)
      stores.clock.set(0)
      await reopenedWith(50)
      expect(kinds(await store.history.append([message('other')], false))).to.deep.equal(['stored'])
      stores.clock.set(real + MINUTE)
      const outcomes = await store.history.append([message('a'), message('b', { to: 'W1AW' })], false)
      expect(kinds(outcomes)).to.deep.equal(['duplicate', 'duplicate'])
    })

    it('compares reply-acks by the number before the brace alone, and keeps what the first one said', async () => {
      const numbers = ['MM}', 'MM}AA', 'MM}AB', 'MN}AA', '}AA', '}AB']
      const outcomes = await store.history.append(
        numbers.map((seqId) => message('a', { seqId })),
        false,
      )
      expect(kinds(outcomes)).to.deep.equal(['stored', 'duplicate', 'duplicate', 'stored', 'stored', 'stored'])
      expect((await newer(store, 'N0CALL')).messages[0]?.seqId).to.equal('MM}')
    })

    it("does not count a text's trailing blanks, nor control characters at a line's end", async () => {
      const texts = ['a', 'a  ', 'a\0', 'a \x1c\x7f', ' a', 'a b']
      const outcomes = await store.history.append(
        texts.map((text) => message(text, { seqId: '' })),
        false,
      )
      expect(kinds(outcomes)).to.deep.equal(['stored', 'duplicate', 'duplicate', 'duplicate', 'stored', 'stored'])
    })

    it('knows a copy that the ring has dropped, within one batch and over restarts too', async () => {
      await reopenedWith(2)
      const batch = ['a', 'b', 'a', 'c', 'a', 'd'].map((text) => message(text))
      const expected = ['stored', 'stored', 'duplicate', 'stored', 'duplicate', 'stored']
      expect(kinds(await store.history.append(batch, false))).to.deep.equal(expected)
      expect(await held()).to.deep.equal(['c', 'd'])
      stores.clock.set(stores.clock.now() + 119 * MINUTE)
      for (let starts = 0; starts < 2; starts += 1) {
        await reopenedWith(2)
        expect(new Set(kinds(await store.history.append(batch, false)))).to.deep.equal(new Set(['duplicate']))
      }
      stores.clock.set(stores.clock.now() + MINUTE)
      await reopenedWith(2)
      expect(kinds(await store.history.append([message('a')], false))).to.deep.equal(['stored'])
    })

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

    it('are known when the ring drops what they are copies of after a start, before its sender writes again', async () => {
      await reopenedWith(2)
      await store.history.append([message('a', { seqId: '1' }), message('b', { seqId: '2' })], false)
      await reopenedWith(2)
      await store.history.append([message('c', { from: 'W2AW' })], false)
      const again = await store.history.append([message('a', { seqId: '1' }), message('b', { seqId: '2' })], false)
      expect(kinds(again)).to.deep.equal(['duplicate', 'duplicate'])
    })

    it('agrees with a plain model for any sequence of batches', async () => {
      const addressee = fc.constantFrom('N0CALL', 'W1AW', 'K9NONE')
      const draft = fc
        .tuple(fc.constantFrom('x', 'y'), fc.constantFrom('A', 'B'), addressee, fc.constantFrom('', '1'))
        .map(([text, from, to, seqId]) => message(text, { from, to, seqId }))
      const step = fc.record({
        laterByMs: fc.constantFrom(0, 0, 29_000, 70 * MINUTE, -70 * MINUTE, 30 * DAY, -30 * DAY),
        restart: fc.constantFrom(false, true),
        calls: fc.array(fc.array(draft, { maxLength: 6 }), { minLength: 1, maxLength: 3 }),
      })
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 8 }), fc.boolean(), async (steps, inFile) => {
          await store.close()
          await rm(stores.path(), { force: true })
          const open = () =>
            stores.open({ history: { ...SETTINGS.history, perStation: 3 } }, inFile ? undefined : IN_MEMORY)
          store = await open()
          await register(store, 'N0CALL', 'W1AW')
          const rings = new Map<string, string[]>([
            ['N0CALL', []],
            ['W1AW', []],
          ])
          const storedAt = new Map<string, number>()
          for (const { laterByMs, restart, calls } of steps) {
            // What seemed too old to be written down when the ring dropped it cannot be known again after a start.
            stores.clock.set(stores.clock.now() + (inFile ? Math.abs(laterByMs) : laterByMs))
            if (restart && inFile) {
              await store.close()
              store = await open()
            }
            const now = stores.clock.now()
            const answers = await Promise.all(calls.map((call) => store.history.append(call, false)))
            for (const [index, { from, to, seqId, text }] of calls.flat().entries()) {
              const identity = `${from} ${seqId} ${text}`
              const ring = rings.get(to)
              const before = storedAt.get(`${to} ${identity}`) ?? Number.NEGATIVE_INFINITY
              const known = Math.abs(now - before) < (seqId === '' ? 30_000 : 120 * MINUTE)
              if (ring && !known) {
                storedAt.set(`${to} ${identity}`, now)
                ring.push(identity)
              }
              if (ring && ring.length > 3) ring.shift()
              expect(answers.flat()[index]?.kind).to.equal(ring ? (known ? 'duplicate' : 'stored') : 'no_station')
            }
          }
          for (const [station, ring] of rings) {
            const { messages } = await newer(store, station)
            expect(messages.map(({ from, seqId, text }) => `${from} ${seqId} ${text}`)).to.deep.equal(ring)
          }
        }),
        { numRuns: 100 },
      )
    })
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
      expect(await held()).to.deep.equal([])
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
