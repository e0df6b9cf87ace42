import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import fc from 'fast-check'
import type { Store, StoredMessage } from '../../../../../sidecar/messages/store.ts'
import { cacheOver, messagesIn } from '../../../api/rings/ring-answer.ts'
import { serverTimeContract } from '../../contract/server-time.contract.ts'
import { copyAsAfterCrash, message, newer, register, rejection, temporaryStores } from '../temporary-stores.ts'

const HOUR = 3_600_000

describe('Server time', () => serverTimeContract(temporaryStores(), 10))

describe('Server time in SQLite', () => {
  const stores = temporaryStores()

  it('is the clock in milliseconds, and moves on when the clock stands still', async () => {
    const store = await stores.open()
    const now = stores.clock.now()
    expect(await store.serverTime.issue()).to.equal(now)
    expect(await store.serverTime.issue()).to.equal(now + 1)
    stores.clock.set(now + 5000)
    expect(await store.serverTime.issue()).to.equal(now + 5000)
  })

  it('is there for whoever asks after a step of the clock, though it steps again while more is reserved', async () => {
    const store = await stores.open()
    for (let turns = 0; turns < 20; turns += 1) {
      stores.clock.set(stores.clock.now() + 60_000)
      const one = store.serverTime.issue()
      for (let turn = 0; turn < turns; turn += 1) await nextTurn()
      stores.clock.set(stores.clock.now() + 60_000)
      const other = store.serverTime.issue()
      expect(await other).to.not.equal(await one)
    }
  })

  it('does not go back with the clock, over a clean restart either, and skips nothing then', async () => {
    const first = await stores.open()
    const issued = await first.serverTime.issue()
    stores.clock.set(stores.clock.now() - 1000 * HOUR)
    expect(await first.serverTime.issue()).to.equal(issued + 1)
    await first.close()
    const second = await stores.open()
    expect(await second.serverTime.issue()).to.equal(issued + 2)
  })

  it('issues nothing twice after a crash with the clock set back, and skips at most half a minute', async () => {
    const first = await stores.open()
    let newest = 0
    for (let count = 0; count < 12_000; count += 1) newest = await first.serverTime.issue()
    copyAsAfterCrash(stores.path(), stores.path('crashed'))
    stores.clock.set(stores.clock.now() - HOUR)
    const second = await stores.open({}, stores.path('crashed'))
    const next = await second.serverTime.issue()
    expect(next).to.be.greaterThan(newest)
    expect(next - newest).to.be.at.most(30_001)
  })

  it('covers the stamps of messages in the transaction that stores them', async () => {
    const first = await stores.open()
    await register(first, 'N0CALL')
    stores.clock.set(stores.clock.now() + HOUR)
    const [outcome] = await first.history.append([message('hello')], false)
    copyAsAfterCrash(stores.path(), stores.path('crashed'))
    stores.clock.set(stores.clock.now() - HOUR)
    const second = await stores.open({}, stores.path('crashed'))
    const { messages, serverTime } = await newer(second, 'N0CALL')
    expect(messages[0]).to.deep.equal(outcome?.kind === 'stored' ? outcome.message : undefined)
    expect(serverTime).to.be.greaterThan(messages[0]!.time)
  })

  it('reserves more before what is reserved runs out', async () => {
    const { store, connection } = await stores.openOver()
    const start = await store.serverTime.issue()
    stores.clock.set(start + 6000)
    await store.serverTime.issue()
    await store.stations.avatars([]) // comes after the write that is on its way
    await connection.exec('PRAGMA query_only = ON')
    stores.clock.set(start + 14_000)
    expect(await store.serverTime.issue()).to.equal(start + 14_000)
    await connection.exec('PRAGMA query_only = OFF')
  })

  it('reserves in large blocks, so that stamps cost hardly any writes', async () => {
    const { store, connection } = await stores.openOver()
    const changes = async () => {
      const [row] = await connection.all<{ count: number }>('SELECT total_changes() AS count')
      return row?.count ?? 0
    }
    const before = await changes()
    for (let second = 0; second < 100; second += 1) {
      stores.clock.set(stores.clock.now() + 1000)
      await store.serverTime.issue()
    }
    expect((await changes()) - before).to.be.within(10, 25)
  })

  it('refuses rather than to repeat itself when nothing can be reserved for long', async () => {
    const { store, connection } = await stores.openOver()
    const issued = [await store.serverTime.issue()]
    await connection.exec('PRAGMA query_only = ON')
    stores.clock.set(stores.clock.now() + HOUR)
    let refusal: { code?: string } | undefined
    while (!refusal && issued.length < 40_000) {
      await store.serverTime.issue().then(
        (stamp) => void issued.push(stamp),
        (error: { code?: string }) => {
          refusal = error
        },
      )
    }
    expect(refusal?.code).to.equal('database_not_writable')
    expect(issued.length).to.be.greaterThan(20_000)
    expect(issued.every((stamp, index) => index === 0 || stamp > issued[index - 1]!)).to.equal(true)
    expect((await rejection(newer(store, 'N0CALL'))).code).to.equal('database_not_writable')
    await connection.exec('PRAGMA query_only = OFF')
    expect(await store.serverTime.issue()).to.equal(stores.clock.now())
  })

  it('loses no stamps to a transaction that is rolled back', async () => {
    const store = await stores.open()
    await register(store, 'N0CALL')
    const before = await store.serverTime.issue()
    const batch = Array.from({ length: 500 }, (_, index) => message(`text ${index}`))
    const spoilt = message('last', { from: undefined as unknown as string })
    await rejection(store.history.append([...batch, spoilt], false))
    expect(await store.serverTime.issue()).to.equal(before + 1)
  })

  describe('over any interleaving of messages, syncs, restarts, crashes and clock steps', () => {
    const STATIONS = ['N0CALL', 'W1AW'] as const

    const kind = fc.oneof(
      fc.record({ do: fc.constant('append' as const), to: fc.array(fc.constantFrom(...STATIONS), { maxLength: 5 }) }),
      fc.record({ do: fc.constant('sync' as const), station: fc.constantFrom(...STATIONS) }),
      fc.record({ do: fc.constant('issue' as const) }),
    )
    // Some calls come while the transaction or the reads of others are under way.
    const call = fc.record({ afterTurns: fc.nat(6), one: kind })
    const step = fc.record({
      clockStepMs: fc.constantFrom(0, 0, 1, 3000, 40_000, -50, -HOUR, HOUR),
      calls: fc.array(call, { maxLength: 8 }),
      // 'crash' happens some turns of the event loop after the calls were made, with part of them done.
      end: fc.oneof(
        { weight: 4, arbitrary: fc.constant({ kind: 'go on' as const }) },
        { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
        { weight: 2, arbitrary: fc.record({ kind: fc.constant('crash' as const), turns: fc.nat(12) }) },
      ),
    })

    /** Lets that many rounds of the event loop go by. */
    async function turns(count: number): Promise<void> {
      for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    }

    type Ask = (
      station: string,
      since: number,
    ) => Promise<{ readonly messages: readonly Received[]; readonly serverTime: number }>
    /** Its text is compared as text. */
    type Received = Pick<StoredMessage, 'time'> & { readonly text: { toString(): string } }

    /** What a phone does: one sync after the other, each from the cursor that the last answer gave. */
    interface Phone {
      cursor: number
      syncing: Promise<void>
      readonly received: Received[]
    }

    /** The ways to ask what is new: of the store itself, and as the API answers, from the rings that it keeps in memory. */
    const WAYS = {
      'the store':
        (store: Store): Ask =>
        (station, since) =>
          newer(store, station, since),
      'the rings in memory': (store: Store): Ask => {
        const rings = cacheOver(store)
        return async (station, since) => {
          const answer = await rings.since(station, since)
          if (!answer) throw new Error('The station is not registered.')
          return { messages: messagesIn(answer), serverTime: answer.serverTime }
        }
      },
    }

    async function play(
      way: keyof typeof WAYS,
      perStation: number,
      steps: readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[],
    ) {
      let generation = 0
      let path = stores.path(`play-${Math.random()}`)
      const settings = { history: { perStation, duplicateMinutes: 120, duplicateSecondsUnnumbered: 30 } }
      let store: Store = await stores.open(settings, path)
      let ask = WAYS[way](store)
      await register(store, ...STATIONS)

      const phones = new Map<string, Phone>()
      for (const station of STATIONS) phones.set(station, { cursor: 0, syncing: Promise.resolve(), received: [] })
      const acknowledged = new Map<string, StoredMessage[]>(STATIONS.map((station) => [station, []]))
      const stamps = new Set<number>()
      let newest = 0
      let sent = 0

      const note = (stamp: number) => {
        expect(stamps.has(stamp), `${stamp} was issued before`).to.equal(false)
        stamps.add(stamp)
      }

      async function sync(station: string, from: Ask, alive: () => boolean): Promise<void> {
        const phone = phones.get(station)!
        phone.syncing = phone.syncing.then(async () => {
          if (!alive()) return
          const answer = await from(station, phone.cursor)
          if (!alive()) return
          note(answer.serverTime)
          expect(answer.serverTime).to.be.greaterThan(phone.cursor)
          for (const one of answer.messages) expect(one.time).to.be.within(phone.cursor + 1, answer.serverTime - 1)
          phone.cursor = answer.serverTime
          phone.received.push(...answer.messages)
        })
        await phone.syncing
      }

      for (const { clockStepMs, calls, end } of steps) {
        stores.clock.set(stores.clock.now() + clockStepMs)
        const current = store
        const asked = ask
        let crashed = false
        const alive = () => !crashed
        const issuedNow: number[] = []
        const done = calls.map(async ({ afterTurns, one }) => {
          await turns(afterTurns)
          if (!alive()) return
          if (one.do === 'sync') return sync(one.station, asked, alive)
          if (one.do === 'issue') {
            const stamp = await current.serverTime.issue()
            if (!alive()) return
            note(stamp)
            issuedNow.push(stamp)
            return
          }
          const batch = one.to.map((to) => {
            sent += 1
            return message(`text ${sent}`, { to })
          })
          for (const outcome of await current.history.append(batch, false)) {
            expect(outcome.kind).to.equal('stored')
            if (outcome.kind !== 'stored' || !alive()) continue
            note(outcome.message.time)
            issuedNow.push(outcome.message.time)
            acknowledged.get(outcome.message.to)?.push(outcome.message)
          }
        })
        if (end.kind === 'crash') {
          await turns(end.turns)
          generation += 1
          const copy = `${path}-${generation}`
          crashed = true
          copyAsAfterCrash(path, copy)
          await Promise.all(done)
          await store.close()
          path = copy
        } else {
          await Promise.all(done)
          if (end.kind === 'restart') await store.close()
        }
        if (end.kind !== 'go on') {
          store = await stores.open(settings, path)
          ask = WAYS[way](store)
        }
        for (const stamp of issuedNow) expect(stamp).to.be.greaterThan(newest)
        newest = Math.max(newest, ...stamps)
      }

      for (const station of STATIONS) await sync(station, ask, () => true)
      await store.close()
      return STATIONS.map((station) => ({
        acknowledged: acknowledged.get(station)!,
        received: phones.get(station)!.received,
      }))
    }

    const times = (messages: readonly Received[]) => messages.map((one) => one.time)

    for (const way of Object.keys(WAYS) as (keyof typeof WAYS)[]) {
      it(`brings a phone that syncs by ${way} from cursor to cursor each message exactly once and in order`, async () => {
        await fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
            for (const { acknowledged, received } of await play(way, 1000, steps)) {
              expect(times(received)).to.deep.equal([...new Set(times(received))].sort((a, b) => a - b))
              const texts = received.map((one) => one.text.toString())
              expect(new Set(texts).size).to.equal(texts.length)
              expect(texts).to.include.members(acknowledged.map((one) => one.text.toString()))
            }
          }),
          { numRuns: 60 },
        )
      })

      it(`brings it by ${way} at least what the ring holds, when the ring is smaller than what arrives`, async () => {
        await fc.assert(
          fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
            for (const { acknowledged, received } of await play(way, 3, steps)) {
              expect(times(received)).to.deep.equal([...new Set(times(received))].sort((a, b) => a - b))
              // A crash may have kept messages that nobody was told of; they take places in the ring, too.
              const unknown = received.filter((one) => !times(acknowledged).includes(one.time)).length
              const held = times(acknowledged)
                .sort((a, b) => a - b)
                .slice(unknown - 3)
              if (unknown < 3) expect(times(received)).to.include.members(held)
            }
          }),
          { numRuns: 30 },
        )
      })
    }
  })
})
