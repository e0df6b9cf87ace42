import { expect } from 'chai'
import fc from 'fast-check'
import type { AppendOutcome, Store } from '../../../../sidecar/messages/store.ts'
import { message, newer, register } from '../sqlite/temporary-stores.ts'
import type { ContractStores } from './stores.ts'

const HOUR = 3_600_000
const STATIONS = ['N0CALL', 'W1AW'] as const

const timesOf = (outcomes: readonly AppendOutcome[]) =>
  outcomes.flatMap((outcome) => (outcome.kind === 'stored' ? outcome.message.time : []))

/**
 * What every store promises of its stamps. That two answers between which nothing was stored bear different ones is not among it. To be
 * called inside a `describe`. `runs`: of the property among them.
 */
export function serverTimeContract(stores: ContractStores, runs = 30): void {
  let store: Store
  beforeEach(async () => {
    store = await stores.open()
    await register(store, ...STATIONS)
  })

  async function reopened(): Promise<void> {
    await store.close()
    store = await stores.open()
  }

  let sent = 0
  const append = async (to: string = STATIONS[0]) => {
    sent += 1
    const [time = Number.NaN] = timesOf(await store.history.append([message(`text ${sent}`, { to })], false))
    return time
  }

  it('is newer than everything that is stored, and older than whatever is stored later, of any station', async () => {
    const stamps = [await append()]
    for (const to of STATIONS) stamps.push(await store.serverTime.issue(), await append(to))
    stamps.push((await newer(store, 'N0CALL')).serverTime)
    expect(stamps).to.deep.equal([...new Set(stamps)].sort((a, b) => a - b))
  })

  it('is the time in milliseconds, when next to nothing happens', async () => {
    await stores.shift(HOUR)
    expect(await append()).to.be.closeTo(stores.now(), stores.slackMs + 1)
  })

  it('does not go back with the clock, over a restart either', async () => {
    const stamps = [await append()]
    await stores.shift(-1000 * HOUR)
    stamps.push(await store.serverTime.issue(), await append())
    await reopened()
    stamps.push(await store.serverTime.issue(), await append(), (await newer(store, 'N0CALL')).serverTime)
    expect(stamps).to.deep.equal([...new Set(stamps)].sort((a, b) => a - b))
  })

  it('of a registration is newer than what was issued before, and older than what comes for the station', async () => {
    const before = await append()
    const outcome = await store.stations.register({
      key: 'K9NEW',
      platform: 'ios',
      pushToken: 'token',
      ackMessages: false,
      client: '192.0.2.1',
    })
    const registeredAt = outcome.kind === 'created' ? outcome.station.registeredAt : Number.NaN
    expect(registeredAt).to.be.above(before)
    expect(await append('K9NEW')).to.be.above(registeredAt)
  })

  it('brings a phone that syncs from cursor to cursor each message exactly once and in order, whatever comes together', async () => {
    const one = fc.oneof(
      fc.record({ do: fc.constant('append' as const), to: fc.array(fc.constantFrom(...STATIONS), { maxLength: 5 }) }),
      fc.record({ do: fc.constant('sync' as const), station: fc.constantFrom(...STATIONS) }),
      fc.record({ do: fc.constant('issue' as const) }),
    )
    const step = fc.record({
      shiftMs: fc.constantFrom(0, 0, 1, 3000, 40_000, -50, -HOUR, HOUR),
      calls: fc.array(fc.record({ afterTurns: fc.nat(6), one }), { maxLength: 8 }),
      restart: fc.constantFrom(false, false, false, true),
    })
    await store.close()
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
        await stores.wipe()
        store = await stores.open()
        await register(store, ...STATIONS)
        const phones = new Map(
          STATIONS.map((key) => [
            key,
            { cursor: 0, syncing: Promise.resolve(), got: [] as number[], due: [] as number[] },
          ]),
        )
        const sync = (key: (typeof STATIONS)[number]): Promise<void> => {
          const phone = phones.get(key)
          if (!phone) throw new Error('There is no such phone.')
          phone.syncing = phone.syncing.then(async () => {
            const { messages, serverTime } = await newer(store, key, phone.cursor)
            expect(serverTime).to.be.at.least(phone.cursor)
            for (const { time } of messages) expect(time).to.be.within(phone.cursor + 1, serverTime - 1)
            phone.cursor = serverTime
            phone.got.push(...messages.map(({ time }) => time))
          })
          return phone.syncing
        }
        let newest = 0
        for (const { shiftMs, calls, restart } of steps) {
          await stores.shift(shiftMs)
          const issued: number[] = []
          await Promise.all(
            calls.map(async ({ afterTurns, one: call }) => {
              for (let turn = 0; turn < afterTurns; turn += 1) await new Promise((resolve) => setImmediate(resolve))
              if (call.do === 'sync') return sync(call.station)
              if (call.do === 'issue') return void issued.push(await store.serverTime.issue())
              const batch = call.to.map((to) => message(`text ${++sent}`, { to }))
              const times = timesOf(await store.history.append(batch, false))
              expect(times).to.have.length(batch.length)
              for (const [index, to] of call.to.entries()) phones.get(to)?.due.push(times[index] ?? Number.NaN)
              issued.push(...times)
            }),
          )
          for (const stamp of issued) expect(stamp).to.be.at.least(newest)
          newest = Math.max(newest, ...issued)
          if (restart) await reopened()
        }
        for (const key of STATIONS) await sync(key)
        for (const { got, due } of phones.values()) expect(got).to.deep.equal(due.sort((a, b) => a - b))
        await store.close()
      }),
      { numRuns: runs },
    )
  })
}
