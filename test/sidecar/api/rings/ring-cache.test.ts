import { gunzipSync } from 'node:zlib'
import { expect } from 'chai'
import fc from 'fast-check'
import { copyGzip, gzipBytes } from '../../../../sidecar/api/answers/gzip-head.ts'
import type { RingCache } from '../../../../sidecar/api/rings/ring-cache.ts'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { propertyRuns } from '../../../support/property-runs.ts'
import { append, message, newer, register, registration, temporaryStores } from '../../store/sqlite/temporary-stores.ts'
import { answerIn, cacheOver, messagesIn } from './ring-answer.ts'

describe('The ring buffers in memory', () => {
  const stores = temporaryStores()
  const settings = { history: { perStation: 5, duplicateMinutes: 120, duplicateSecondsUnnumbered: 30 } }
  let store: Store
  let rings: RingCache
  beforeEach(async () => {
    store = await stores.open(settings)
    rings = cacheOver(store)
    await register(store, 'N0CALL', 'W1AW')
  })

  const texts = async (station: string, since = 0) => {
    const answer = await rings.since(station, '', since)
    return answer && messagesIn(answer).map(({ text }) => text)
  }

  it('the ring cache returns the same messages as the store, for any cursor', async () => {
    const action = fc.oneof(
      fc.record({ do: fc.constant('append' as const), count: fc.integer({ min: 1, max: 7 }) }),
      fc.record({ do: fc.constant('ask' as const), back: fc.nat(12), compressed: fc.boolean() }),
    )
    let sent = 0
    await fc.assert(
      fc.asyncProperty(fc.array(action, { maxLength: 20 }), async (actions) => {
        // Each run begins with an empty cache, and may use a new cursor first and an old one later.
        const ownCache = cacheOver(store)
        const cursors = [0]
        for (const item of actions) {
          if (item.do === 'append') {
            await append(store, ...Array.from({ length: item.count }, () => `text ${sent++} „ü“ 📻`))
            cursors.push(await store.stamps.issue())
            continue
          }
          const since = cursors.at(-1 - Math.min(item.back, cursors.length - 1)) ?? 0
          const { messages, newestDropped } = await newer(store, 'N0CALL', since)
          const answer = await ownCache.since('N0CALL', '', since)
          if (answer && item.compressed) {
            const [head, tail] = [await answer.head.compressed(), Buffer.from('}')]
            const member = Buffer.alloc(gzipBytes(head, tail))
            copyGzip(head, tail, member)
            const whole = gunzipSync(member)
            expect(whole.toString('latin1')).to.equal(`${answer.head.text()}}`)
            expect(whole.length).to.equal(answer.head.bytes + 1)
          }
          expect(answer && messagesIn(answer)).to.deep.equal(
            messages.map(({ stamp, text, ...rest }) => ({ ...rest, text: text.toString(), time: stamp })),
          )
          expect(answer?.isTruncated).to.equal(newestDropped > since)
          if (answer) cursors.push(answer.serverTime)
        }
      }),
      { numRuns: propertyRuns(15) },
    )
  })

  it('the ring cache omits messages from an earlier registration of a station', async () => {
    await append(store, 'for the one before')
    expect(await texts('N0CALL')).to.deep.equal(['for the one before'])
    await store.stations.remove('N0CALL')
    expect(await rings.since('N0CALL', '', 0)).to.equal(undefined)
    stores.clock.set(stores.clock.now() + 1)
    await store.stations.register(registration('N0CALL'))
    expect(await texts('N0CALL')).to.deep.equal([])
    await append(store, 'for this one')
    expect(await texts('N0CALL')).to.deep.equal(['for this one'])
  })

  it('the ring cache returns a message only after it is stored, even to parallel syncs', async () => {
    await append(store, 'one')
    await texts('N0CALL')
    const storing = append(store, 'two')
    const during = await texts('N0CALL')
    await storing
    expect(['one', 'one,two']).to.include(String(during))
    expect(await texts('N0CALL')).to.deep.equal(['one', 'two'])
  })

  it('a sync from the ring cache returns the current avatars of all senders', async () => {
    await append(store, 'one')
    const avatars = async () => answerIn(await rings.since('N0CALL', '', 0)).avatars
    expect(await avatars()).to.deep.equal({})
    const hash = 'a'.repeat(64)
    await store.stations.register(registration('W1AW', { avatar: { icon: 'car', image: '', hash } }))
    expect(await avatars()).to.deep.equal({ W1AW: hash })
  })

  it('an answer from the ring cache stays unchanged while newer messages arrive', async () => {
    await append(store, '1', '2', '3', '4', '5')
    const earlier = [await rings.since('N0CALL', '', 0), await rings.since('N0CALL', '', 0)]
    await earlier[0]?.head.compressed()
    earlier.push(await rings.since('N0CALL', '', 0))
    await append(store, '6', '7', '8', '9')
    for (const answer of earlier)
      expect(answer && messagesIn(answer).map(({ text }) => text)).to.deep.equal(['1', '2', '3', '4', '5'])
    expect(await texts('N0CALL')).to.deep.equal(['5', '6', '7', '8', '9'])
  })

  it('the reported size of the ring cache includes compressed answers', async () => {
    await append(store, 'x'.repeat(1000))
    const answer = await rings.since('N0CALL', '', 0)
    const earlier = rings.bytes
    const compressed = await answer?.head.compressed()
    expect(compressed?.blocks.buffer.byteLength).to.equal(compressed?.blocks.length)
    expect(rings.bytes).to.be.within(earlier + (compressed?.blocks.length ?? 0), earlier + 1000)
  })

  describe('The ring cache at its memory limit', () => {
    const stations = Array.from({ length: 40 }, (_, index) => `K${index}AB`)
    beforeEach(() => register(store, ...stations))

    it('the ring cache drops rings of stations that clients no longer request', async () => {
      await append(store, ...stations.map((to) => message('x'.repeat(1000), { to })))
      let requestCount = 0
      const history: Store['history'] = {
        ...store.history,
        since(...position) {
          requestCount += 1
          return store.history.since(...position)
        },
      }
      const bounded = cacheOver({ ...store, history }, 40_000)
      /** Sends requests one after the other. @returns the share that memory answers */
      async function hits(callers: readonly string[], rounds: number): Promise<number> {
        requestCount = 0
        for (let round = 0; round < rounds; round += 1) for (const to of callers) await bounded.since(to, '', 0)
        return 1 - requestCount / (callers.length * rounds)
      }
      await hits(stations.slice(0, 15), 2)
      await hits(stations.slice(20, 35), 40)
      expect(await hits(stations.slice(20, 35), 10)).to.be.above(0.9)
      expect(await hits(stations.slice(0, 15), 1)).to.be.below(0.5)
    })

    it('the ring cache never exceeds its memory limit', async () => {
      const bounded = cacheOver(store, 40_000)
      for (const to of stations) {
        await append(store, ...Array.from({ length: 5 }, (_, index) => message(`${'x'.repeat(200)} ${index}`, { to })))
        await bounded.since(to, '', 0)
        expect(bounded.bytes).to.be.at.most(40_000)
      }
      expect(bounded.bytes).to.be.above(20_000)
    })
  })
})
