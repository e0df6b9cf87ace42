import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'chai'
import fc from 'fast-check'
import { createRingCache, type RingCache } from '../../../sidecar/api/ring-cache.ts'
import type { Store } from '../../../sidecar/messages/store.ts'
import { message, register, registration, rejection, temporaryStores } from '../store/temporary-stores.ts'
import { answerIn, messagesIn } from './ring-answer.ts'

describe('rings kept in memory', () => {
  const stores = temporaryStores()
  const settings = { history: { perStation: 5, duplicateHours: 12 } }
  let store: Store
  let rings: RingCache
  beforeEach(async () => {
    store = await stores.open(settings)
    rings = createRingCache(store)
    await register(store, 'N0CALL', 'W1AW')
  })

  const texts = async (station: string, since = 0) => {
    const answer = await rings.since(station, since)
    return answer && messagesIn(answer).map(({ text }) => text)
  }
  const append = (...of: readonly string[]) => store.history.append(of.map((text) => message(text)))

  it('answer as the history does, whatever is stored, refused or forgotten between, and from wherever a client asks', async () => {
    const over = await stores.openOver(settings, stores.path('over'))
    const { connection } = over
    await register(over.store, 'N0CALL', 'W1AW')
    const action = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({ do: fc.constant('append' as const), count: fc.integer({ min: 1, max: 7 }) }),
      },
      { weight: 4, arbitrary: fc.record({ do: fc.constant('ask' as const), back: fc.nat(12) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('append in vain' as const), count: fc.constant(1) }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('register anew' as const) }) },
    )
    let sent = 0
    const send = (count: number) =>
      over.store.history.append(Array.from({ length: count }, () => message(`text ${sent++} „ü“ 📻`)))
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 20 }), async (actions) => {
        // Each run begins with nothing in memory, and may ask late first and early then.
        const own = createRingCache(over.store)
        const cursors = [0]
        for (const one of actions) {
          if (one.do === 'append') {
            await send(one.count)
            cursors.push(await over.store.serverTime.issue())
          } else if (one.do === 'append in vain') {
            await connection.exec('PRAGMA query_only = ON')
            await rejection(send(one.count))
            await connection.exec('PRAGMA query_only = OFF')
          } else if (one.do === 'register anew') {
            await over.store.stations.remove('N0CALL')
            await register(over.store, 'N0CALL')
          } else {
            const since = cursors.at(-1 - Math.min(one.back, cursors.length - 1)) ?? 0
            const { messages } = await over.store.history.since('N0CALL', since)
            const answer = await own.since('N0CALL', since)
            expect(answer && messagesIn(answer)).to.deep.equal(
              messages.map(({ text, ...rest }) => ({ ...rest, text: text.toString() })),
            )
            if (answer) cursors.push(answer.serverTime)
          }
        }
      }),
      { numRuns: 60 },
    )
  })

  it('give nothing of an earlier registration, and know no station that is gone', async () => {
    await append('for the one before')
    expect(await texts('N0CALL')).to.deep.equal(['for the one before'])
    await store.stations.remove('N0CALL')
    expect(await rings.since('N0CALL', 0)).to.equal(undefined)
    stores.clock.set(stores.clock.now() + 1)
    await store.stations.register(registration('N0CALL'))
    expect(await texts('N0CALL')).to.deep.equal([])
    await append('for this one')
    expect(await texts('N0CALL')).to.deep.equal(['for this one'])
  })

  it('go with their station, whether it leaves or expires', async () => {
    const empty = rings.bytes
    await append('one')
    await texts('N0CALL')
    expect(rings.bytes).to.be.above(empty)
    await store.stations.remove('N0CALL')
    expect(rings.bytes).to.equal(empty)

    await texts('W1AW')
    expect(rings.bytes).to.be.above(empty)
    stores.clock.set(stores.clock.now() + 1)
    await store.housekeeping.expire(stores.clock.now(), new AbortController().signal)
    expect(rings.bytes).to.equal(empty)
    expect(await rings.since('W1AW', 0)).to.equal(undefined)
  })

  it('show what the disk refused when the disk has it, and no cursor is ahead of it', async () => {
    const over = await stores.openOver(settings, stores.path('over'))
    const own = createRingCache(over.store)
    await register(over.store, 'N0CALL')
    const before = await own.since('N0CALL', 0)
    await over.connection.exec('PRAGMA query_only = ON')
    await rejection(over.store.history.append([message('one')]))
    const meanwhile = await own.since('N0CALL', before?.serverTime ?? 0)
    expect(meanwhile && messagesIn(meanwhile)).to.deep.equal([])
    await over.connection.exec('PRAGMA query_only = OFF')
    await over.store.history.append([message('one')])
    const after = await own.since('N0CALL', meanwhile?.serverTime ?? 0)
    expect(after && messagesIn(after).map(({ text }) => text)).to.deep.equal(['one'])
  })

  it('hold no more than the configuration says now, whatever it said when the messages came', async () => {
    const path = stores.path('larger')
    const larger = await stores.open({ history: { perStation: 10, duplicateHours: 12 } }, path)
    await register(larger, 'N0CALL')
    await larger.history.append(Array.from({ length: 10 }, (_, index) => message(`text ${index}`)))
    await larger.close()
    const smaller = await stores.open({ history: { perStation: 3, duplicateHours: 12 } }, path)
    const own = createRingCache(smaller)
    const seen = async () => messagesIn((await own.since('N0CALL', 0)) ?? { head: '' }).map(({ text }) => text)
    expect(await seen()).to.deep.equal(['text 7', 'text 8', 'text 9'])
    await smaller.history.append([message('text 10')])
    expect(await seen()).to.deep.equal(['text 8', 'text 9', 'text 10'])
  })

  it('show a message once it is durable, to who asks while it is being stored too', async () => {
    await append('one')
    await texts('N0CALL')
    const storing = append('two')
    const during = await texts('N0CALL')
    await storing
    expect(['one', 'one,two']).to.include(String(during))
    expect(await texts('N0CALL')).to.deep.equal(['one', 'two'])
  })

  it('bring the avatars of senders as they are when somebody asks', async () => {
    await append('one')
    const avatars = async () => answerIn((await rings.since('N0CALL', 0)) ?? { head: '{' }).avatars
    expect(await avatars()).to.deep.equal({})
    const hash = 'a'.repeat(64)
    await store.stations.register(registration('W1AW', { avatar: { icon: 'car', image: '', hash } }))
    expect(await avatars()).to.deep.equal({ W1AW: hash })
    await store.stations.register(registration('W1AW', { avatar: { icon: '', image: '', hash: '' } }))
    expect(await avatars()).to.deep.equal({})
    await store.stations.register(registration('W1AW', { avatar: { icon: 'car', image: '', hash } }))
    expect(await avatars()).to.deep.equal({ W1AW: hash })
    await store.stations.remove('W1AW')
    expect(await avatars()).to.deep.equal({})
  })

  it('are compressed once for all who ask alike', async () => {
    await append('one')
    const [first, second] = [await rings.since('N0CALL', 0), await rings.since('N0CALL', 0)]
    expect(await first?.gzipHead?.()).to.equal(await second?.gzipHead?.())
    expect(first?.head).to.equal(second?.head)
  })

  it('take no more memory than they may, and leave those first that were not asked for the longest', async () => {
    const stations = Array.from({ length: 40 }, (_, index) => `K${index}AB`)
    await register(store, ...stations)
    const bounded = createRingCache({ ...store, maxBytes: 40_000 })
    for (const to of stations) {
      await store.history.append(Array.from({ length: 5 }, (_, at) => message(`${'x'.repeat(200)} ${at}`, { to })))
      await bounded.since(to, 0)
      expect(bounded.bytes).to.be.at.most(40_000)
    }
    expect(bounded.bytes).to.be.above(20_000)
  })

  it('count what comes in for those that are kept', async () => {
    await append('short')
    await rings.since('N0CALL', 0)
    const before = rings.bytes
    await append('x'.repeat(1000))
    expect(rings.bytes).to.be.within(before + 1000, before + 2000)
  })

  it('take what they are said to take, with long texts and compressed answers too', async () => {
    const stations = Array.from({ length: 100 }, (_, index) => `K${index}AB`)
    const roomy = await stores.open({ history: { perStation: 50, duplicateHours: 12 } }, stores.path('roomy'))
    const own = createRingCache(roomy)
    await register(roomy, ...stations)
    for (const to of stations)
      await roomy.history.append(Array.from({ length: 50 }, (_, at) => message(`${randomText(60)} ${at}`, { to })))
    const before = await takenBytes()
    for (const to of stations) await (await own.since(to, 0))?.gzipHead()
    for (const to of stations.slice(0, 50)) {
      await roomy.history.append(Array.from({ length: 20 }, (_, at) => message(`${randomText(60)} ${at}`, { to })))
      await (await own.since(to, 0))?.gzipHead()
    }
    expect((await takenBytes()) - before).to.be.within(own.bytes * 0.8, own.bytes * 1.15)
  })
})

function randomText(length: number): string {
  return Array.from({ length }, () => String.fromCharCode(0x41 + Math.random() * 60)).join('')
}

/** In the heap and beside it, once what nobody needs any more is gone. */
async function takenBytes(): Promise<number> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  for (let round = 0; round < 3; round += 1) {
    collect()
    await new Promise((resolve) => setImmediate(resolve))
  }
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
