import { expect } from 'chai'
import fc from 'fast-check'
import { type Api, serveApi } from '../../../sidecar/api/server.ts'
import { type Calls, createCalls, type RegisterAnswer, type Stamped } from '../../../sidecar/client/index.ts'
import type { Store } from '../../../sidecar/messages/store.ts'
import { createMetrics } from '../../../sidecar/metrics.ts'
import { propertyRuns } from '../../support/property-runs.ts'
import { claim, registration } from '../../support/running-api.ts'
import { append, copyAsAfterCrash, message, stampOf, temporaryStores } from '../store/sqlite/temporary-stores.ts'

const HOUR = 3_600_000

describe('A server time', () => {
  const stores = temporaryStores()
  const apis: Api[] = []
  afterEach(async () => {
    for (const api of apis.splice(0)) await api.close()
  })

  async function serve(store: Store): Promise<Api> {
    const api = await serveApi({
      listen: { host: '127.0.0.1', port: 0, certFile: null, keyFile: null, trustProxy: false },
      rateLimit: { windowMs: 60_000, max: 1_000_000, newStationsPerHour: 1_000_000, connectionsPerAddress: 64 },
      store,
      isReserved: () => false,
      webPush: { allowPrivate: false },
      clock: stores.clock,
      metrics: createMetrics(),
      log: stores.log,
    })
    apis.push(api)
    return api
  }

  const phoneOf = (api: Api): Calls => createCalls({ baseUrl: api.url })

  describe('of an answer without messages', () => {
    let store: Store
    let api: Api
    let sent = 0
    beforeEach(async () => {
      store = await stores.open()
      api = await serve(store)
      await phoneOf(api).register(registration('N0CALL'))
    })

    const heartbeat = async () => (await phoneOf(api).register(registration('N0CALL'))).serverTime
    const avatars = async () => (await phoneOf(api).avatars({ ...claim('N0CALL'), stations: [] })).serverTime
    const sync = (since: number) => phoneOf(api).sync({ ...claim('N0CALL'), since })
    const launch = (since: number) => phoneOf(api).register(registration('N0CALL', { wantHistory: true, since }))
    const receive = async () => {
      stores.clock.set(stores.clock.now() + 1000)
      sent += 1
      const time = await stampOf(store, message(`text ${sent}`, { to: 'N0CALL-7' }))
      stores.clock.set(stores.clock.now() + 1000)
      return time
    }

    it('is older than a message that the phone has not got, and is what it brings once it has', async () => {
      const first = await heartbeat()
      const time = await receive()
      for (const ask of [heartbeat, avatars, heartbeat]) expect(await ask()).to.be.below(first)
      const { messages, serverTime } = await sync(first)
      expect([messages.map((one) => one.time), serverTime]).to.deep.equal([[time], time])
      for (const ask of [heartbeat, avatars]) expect(await ask()).to.equal(first)
      expect((await sync(serverTime)).serverTime).to.be.above(serverTime)
      for (const ask of [heartbeat, avatars]) expect(await ask()).to.be.above(serverTime)
    })

    for (const [name, ask] of [
      ['a sync', sync],
      ['a launch', launch],
      ['a heartbeat', (since: number) => phoneOf(api).register(registration('N0CALL', { since }))],
    ] as const)
      it(`is the cursor that ${name} brought when messages came since, over a restart too`, async () => {
        const time = await receive()
        await ask(time)
        await receive()
        expect([await heartbeat(), await avatars()]).to.deep.equal([time, time])
        await api.close()
        await store.close()
        store = await stores.open()
        api = await serve(store)
        expect([await heartbeat(), await avatars()]).to.deep.equal([time, time])
        expect((await sync(time)).messages).to.have.length(1)
      })
  })

  describe('is safe as the next cursor for a phone that keeps the newest of every answer', () => {
    const CALLS = ['N0CALL', 'W1AW'] as const
    type Callsign = (typeof CALLS)[number]

    const callsign = fc.constantFrom(...CALLS)
    const action = fc.oneof(
      {
        weight: 4,
        arbitrary: fc.record({
          do: fc.constant('receive' as const),
          to: fc.array(callsign, { minLength: 1, maxLength: 4 }),
        }),
      },
      {
        weight: 6,
        arbitrary: fc.record({
          do: fc.constantFrom(
            'sync' as const,
            'sync' as const,
            'launch' as const,
            'heartbeat' as const,
            'avatars' as const,
          ),
          callsign,
        }),
      },
      // A sync whose answer is lost on the way.
      { weight: 2, arbitrary: fc.record({ do: fc.constant('lose' as const), callsign }) },
      { weight: 1, arbitrary: fc.record({ do: fc.constant('anew' as const), callsign }) },
    )
    const step = fc.record({
      clockStepMs: fc.constantFrom(0, 0, 1, 3000, 40_000, -50, -HOUR, HOUR, -56 * 8766 * HOUR, 56 * 8766 * HOUR),
      passMs: fc.constantFrom(0, 0, 0, 15_000),
      // Some come while the transactions, the reads and the answers of others are under way.
      actions: fc.array(fc.record({ afterTurns: fc.nat(12), action }), { maxLength: 10 }),
      end: fc.oneof(
        { weight: 5, arbitrary: fc.constant({ kind: 'go on' as const }) },
        { weight: 1, arbitrary: fc.constant({ kind: 'restart' as const }) },
        { weight: 2, arbitrary: fc.record({ kind: fc.constant('crash' as const), turns: fc.nat(20) }) },
      ),
    })
    type Steps = readonly (typeof step extends fc.Arbitrary<infer T> ? T : never)[]

    // The client is more careful: what follows on a lost answer does not move its cursor. The promise is made to simpler apps too, so only
    // the calls are the client's.
    interface Phone {
      /** The newest server time of every answer. */
      cursor: number
      /** It asks for messages one time after the other; heartbeats and avatars come in between. */
      asking: Promise<void>
      readonly received: string[]
      /** Durable before anybody could ask for more. */
      readonly stored: string[]
      /** Of an earlier registration: gone with it, or received before. */
      readonly gone: Set<string>
    }

    /** With the messages that some answers bring. */
    type Answer = Stamped & Partial<Pick<RegisterAnswer, 'messages'>>

    /** A sidecar's store and API, from a start to a stop or crash. */
    interface Life {
      readonly store: Store
      readonly api: Api
      readonly calls: Calls
      crashed: boolean
    }

    async function turns(count: number): Promise<void> {
      for (let turn = 0; turn < count; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    }

    async function play(perStation: number, steps: Steps): Promise<readonly Phone[]> {
      let path = stores.path(`play-${Math.random()}`)
      let copies = 0
      let sentMessages = 0
      const phones = new Map<Callsign, Phone>()
      for (const call of CALLS)
        phones.set(call, { cursor: 0, asking: Promise.resolve(), received: [], stored: [], gone: new Set() })

      async function live(): Promise<Life> {
        const store = await stores.open(
          { history: { perStation, duplicateMinutes: 120, duplicateSecondsUnnumbered: 30 } },
          path,
        )
        const api = await serve(store)
        return { store, api, calls: phoneOf(api), crashed: false }
      }

      /** One call of a phone; what comes after a crash does not come. */
      async function call(life: Life, phone: Phone, ask: (calls: Calls) => Promise<Answer>): Promise<void> {
        if (life.crashed) return
        const { serverTime, messages = [] } = await ask(life.calls)
        if (life.crashed) return
        phone.cursor = Math.max(phone.cursor, serverTime)
        for (const { text } of messages) phone.received.push(text)
      }

      const byPhone = {
        heartbeat: (life: Life, call_: Callsign, phone: Phone) =>
          call(life, phone, (calls) => calls.register(registration(call_))),
        avatars: (life: Life, call_: Callsign, phone: Phone) =>
          call(life, phone, (calls) => calls.avatars({ ...claim(call_), stations: ['K1ABC'] })),
        sync: (life: Life, call_: Callsign, phone: Phone) =>
          call(life, phone, (calls) => calls.sync({ ...claim(call_), since: phone.cursor })),
        lose: async (life: Life, call_: Callsign, phone: Phone) =>
          void (await life.calls.sync({ ...claim(call_), since: phone.cursor })),
        launch: (life: Life, call_: Callsign, phone: Phone) =>
          call(life, phone, (calls) => calls.register(registration(call_, { wantHistory: true, since: phone.cursor }))),
      }

      async function receive(life: Life, to: readonly Callsign[]): Promise<void> {
        const batch = to.map((addressee) => {
          sentMessages += 1
          return message(`text ${sentMessages}`, { to: `${addressee}-7` })
        })
        const outcomes = await append(life.store, ...batch)
        if (life.crashed) return
        for (const [index, { kind }] of outcomes.entries())
          if (kind === 'stored') phones.get(to[index]!)?.stored.push(String(batch[index]!.text))
      }

      async function run(life: Life, one: Steps[number]['actions'][number]['action']): Promise<void> {
        if (life.crashed) return
        if (one.do === 'receive') return receive(life, one.to)
        const phone = phones.get(one.callsign)!
        if (one.do === 'heartbeat' || one.do === 'avatars') return byPhone[one.do](life, one.callsign, phone)
        const ask = one.do === 'anew' ? byPhone.sync : byPhone[one.do]
        phone.asking = phone.asking.then(() => ask(life, one.callsign, phone))
        return phone.asking
      }

      /** Unregisters and registers again, while nothing else goes on. */
      async function anew(life: Life, call_: Callsign): Promise<void> {
        const phone = phones.get(call_)!
        await call(life, phone, (calls) => calls.unregister(claim(call_)))
        for (const text of phone.stored) phone.gone.add(text)
        await byPhone.heartbeat(life, call_, phone)
      }

      let life = await live()
      for (const [call_, phone] of phones) await byPhone.heartbeat(life, call_, phone)
      for (const { clockStepMs, passMs, actions, end } of steps) {
        stores.clock.set(Math.max(0, stores.clock.now() + clockStepMs))
        await stores.clock.advance(passMs)
        const now = life
        const done = actions.map(async ({ afterTurns, action: one }) => {
          await turns(afterTurns)
          await run(now, one)
        })
        if (end.kind === 'crash') {
          await turns(end.turns)
          now.crashed = true
          copies += 1
          const copy = `${path}-${copies}`
          copyAsAfterCrash(path, copy)
          path = copy
        }
        await Promise.all(done)
        if (end.kind === 'go on') {
          for (const { action: one } of actions) {
            if (one.do === 'anew') await anew(now, one.callsign)
          }
          continue
        }
        await now.api.close()
        await now.store.close()
        life = await live()
      }
      for (const [call_, phone] of phones) {
        await byPhone.heartbeat(life, call_, phone)
        for (let times = 0; times < 2; times++) await byPhone.sync(life, call_, phone)
      }
      await life.api.close()
      await life.store.close()
      return [...phones.values()]
    }

    it('brings it each message exactly once, over any interleaving of calls, messages, restarts, crashes and leaps of the clock', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 8 }), async (steps) => {
          for (const { received, stored, gone } of await play(1000, steps)) {
            expect(received).to.deep.equal([...new Set(received)])
            expect(received).to.include.members(stored.filter((text) => !gone.has(text)))
          }
        }),
        { numRuns: propertyRuns(10) },
      )
    })

    it('brings it at least what the ring holds, when the ring is smaller than what arrives', async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(step, { maxLength: 6 }), async (steps) => {
          const calm = steps.map((one) => ({ ...one, end: { kind: 'go on' as const } }))
          for (const { received, stored, gone } of await play(3, calm)) {
            expect(received).to.deep.equal([...new Set(received)])
            expect(received).to.include.members(stored.slice(-3).filter((text) => !gone.has(text)))
          }
        }),
        { numRuns: propertyRuns(5) },
      )
    })
  })
})
