import { expect } from 'chai'
import type { Clock } from '../../../../sidecar/clock.ts'
import type { PushQueue } from '../../../../sidecar/messages/push-queue.ts'
import {
  type AvatarUpload,
  PLATFORMS,
  type Platform,
  type Stations,
  type Store,
} from '../../../../sidecar/messages/store.ts'
import { createMetrics, type Metrics } from '../../../../sidecar/metrics.ts'
import { createDispatcher, type Dispatcher, GRACE_MS } from '../../../../sidecar/push/delivery/dispatcher.ts'
import { MAX_IN_FLIGHT } from '../../../../sidecar/push/delivery/lane.ts'
import { GIVE_UP_AFTER_MS, MAX_TRIES } from '../../../../sidecar/push/delivery/retry-plan.ts'
import type { Notification, PushGateway, PushOutcome } from '../../../../sidecar/push/gateway/gateway.ts'
import { recordedLog } from '../../../support/recorded-log.ts'
import { append, message, registration, temporaryStores } from '../../store/sqlite/temporary-stores.ts'

const KEY = 'N0CALL-7'
const ACCEPTED: PushOutcome = { kind: 'accepted' }
const DAY_MS = 24 * 60 * 60_000
const LATER: PushOutcome = { kind: 'try_later', reason: 'down' }

interface Sent {
  readonly pushToken: string
  readonly notification: Notification
  readonly answer: (outcome: PushOutcome) => void
}

/** A gateway whose answers a test gives by hand, or once and for all. */
class ManualGateway implements PushGateway {
  readonly sent: Sent[] = []
  always: PushOutcome | undefined
  closed = 0
  #arrival: (() => void) | undefined

  send(pushToken: string, notification: Notification): Promise<PushOutcome> {
    return new Promise((answer) => {
      this.sent.push({ pushToken, notification, answer })
      if (this.always) answer(this.always)
      this.#arrival?.()
    })
  }

  close(): Promise<void> {
    this.closed++
    for (const { answer } of this.sent) answer({ kind: 'try_later', reason: 'the gateway is closed' })
    return Promise.resolve()
  }

  async arrived(count: number): Promise<Sent> {
    while (this.sent.length < count) {
      await new Promise<void>((resolve) => {
        this.#arrival = resolve
      })
    }
    return this.sent[count - 1]!
  }
}

/** A queue of which is known what was claimed and has not come to its end, and when what is put off is due, in elapsed milliseconds. */
function watch(
  pushes: PushQueue,
  clock: Clock,
): PushQueue & { readonly busy: number; readonly putOff: readonly number[] } {
  let busy = 0
  const putOff: number[] = []
  const ended = async (work: Promise<void>) => {
    try {
      await work
    } finally {
      busy -= 1
    }
  }
  return {
    ...pushes,
    get busy() {
      return busy
    },
    putOff,
    async claim(room) {
      busy += 1
      try {
        const claims = await pushes.claim(room)
        busy += claims.length
        return claims
      } finally {
        busy -= 1
      }
    },
    settle: (claim) => ended(pushes.settle(claim)),
    later(claim, next) {
      putOff.push(clock.elapsed() + next.delayMs)
      return ended(pushes.later(claim, next))
    },
  }
}

interface Parts {
  readonly gateways?: Partial<Record<Platform, PushGateway>>
  readonly pushes?: (original: PushQueue) => PushQueue
  readonly stations?: (original: Stations) => Stations
  readonly random?: () => number
}

describe('The dispatcher', () => {
  const stores = temporaryStores()
  let store: Store
  let metrics: Metrics
  let android: ManualGateway
  let dispatcher: Dispatcher
  let queue: ReturnType<typeof watch>
  const { log, lines, of: events } = recordedLog()

  /** In the place of the one before, on what that left. */
  async function start({ gateways = { android }, pushes, stations, random = () => 1 }: Parts = {}) {
    await dispatcher?.close()
    await store?.close()
    store = await stores.open({ push: { coalesceMs: 0 } })
    queue = watch(pushes ? pushes(store.pushes) : store.pushes, stores.clock)
    dispatcher = createDispatcher({
      gateways,
      stations: stations ? stations(store.stations) : store.stations,
      pushes: queue,
      clock: stores.clock,
      log,
      metrics,
      random,
    })
  }

  async function register(
    key = KEY,
    pushToken = `token-of-${key}`,
    platform: Platform = 'android',
    avatar?: AvatarUpload,
  ) {
    await store.stations.register(registration(key, { platform, pushToken, ...(avatar && { avatar }) }))
  }

  let serial = 0
  async function receive(text = 'Hello', to = KEY, from = 'W1AW') {
    await append(store, message(text, { from, to, seqId: String(++serial) }))
  }

  const isUnpushed = () => PLATFORMS.some((platform) => store.pushes.waiting(platform) > 0)

  /** Lets what is planned happen, and waits each time until all of it is settled or put off, as a clock that is not turned would. */
  async function advance(ms: number) {
    const { clock } = stores
    const end = clock.elapsed() + ms
    for (let next: number | undefined = clock.elapsed(); next !== undefined; ) {
      await clock.advance(next - clock.elapsed())
      do await new Promise((resolve) => setImmediate(resolve))
      while (queue.busy > 0)
      next = queue.putOff.filter((at) => at > clock.elapsed() && at <= end).sort((one, other) => one - other)[0]
    }
    await clock.advance(end - clock.elapsed())
  }

  const dispatched = () => advance(0)
  /** A message that comes in, and what becomes of it for now. */
  async function tell(...heard: Parameters<typeof receive>) {
    await receive(...heard)
    await dispatched()
  }
  /** The same, of which the answer is still to come. */
  async function underWay() {
    android.always = undefined
    await receive()
    await stores.clock.advance(0)
    return android.arrived(1)
  }

  /** Of what is due as soon as what was sent before is settled. */
  async function arrival(count: number): Promise<Sent> {
    while (android.sent.length < count) await stores.clock.advance(0)
    return android.arrived(count)
  }

  /** What the next start is left with. */
  async function left(): Promise<readonly string[]> {
    await store.close()
    store = await stores.open()
    const claims = await store.pushes.claim({ android: 100, ios: 100, webpush: 100 })
    return claims.map(({ station }) => station)
  }

  beforeEach(async () => {
    metrics = createMetrics()
    android = new ManualGateway()
    android.always = ACCEPTED
    await start()
    await register()
  })
  afterEach(() => dispatcher.close())

  it('tells a phone of a message once', async () => {
    await tell('Hello')
    await dispatched()
    expect(android.sent).to.have.length(1)
    expect(android.sent[0]).to.deep.include({ pushToken: 'token-of-N0CALL-7' })
    expect(android.sent[0]?.notification).to.include({ title: 'W1AW', body: 'Hello' })
    expect([metrics.value('pushes_claimed'), metrics.value('pushes_accepted')]).to.deep.equal([1, 1])
    expect(isUnpushed()).to.equal(false)
  })

  it('says of each gateway what it last answered, and how many stations wait for it', async () => {
    const state = () => dispatcher.gateways()[0]
    expect(dispatcher.gateways().map(({ platform }) => platform)).to.deep.equal(['android'])
    expect(state()).to.deep.include({ state: 'unused', waiting: 0, lastAcceptedAt: undefined })
    android.always = LATER
    await tell()
    expect(state()).to.deep.include({
      state: 'failing',
      waiting: 1,
      lastFailed: { at: stores.clock.now(), reason: 'down' },
    })
    android.always = ACCEPTED
    await advance(1000)
    expect(state()).to.deep.include({ state: 'working', waiting: 0, lastAcceptedAt: stores.clock.now() })
    android.always = { kind: 'refused', reason: 'no payload' }
    await tell()
    expect(state()).to.deep.include({
      state: 'refusing',
      lastRefused: { at: stores.clock.now(), reason: 'no payload' },
    })
  })

  describe('when there is nowhere to send to', () => {
    const UNSENDABLE = [
      ['a dead token', () => store.stations.markTokenDead(KEY, '', 'token-of-N0CALL-7')],
      ['a platform without a gateway', () => register(KEY, 'token', 'ios')],
    ] as const

    for (const [what, before] of UNSENDABLE)
      it(`counts messages to ${what} and lets them rest, without a word`, async () => {
        await before()
        await tell()
        expect([android.sent, lines, isUnpushed()]).to.deep.equal([[], [], false])
        expect(metrics.value('pushes_unsendable')).to.equal(1)
      })

    describe('and the phone registers anew meanwhile', () => {
      let meanwhile = () => register()
      beforeEach(async () => {
        await start({
          stations: (original) => ({
            ...original,
            async avatars(keys) {
              await meanwhile()
              return original.avatars(keys)
            },
          }),
        })
        await register('W1AW', 'token-of-W1AW', 'android', { icon: 'car', image: '', hash: 'icon:car' })
      })

      for (const [what, before] of UNSENDABLE)
        for (const [platform, told] of [
          ['android', 1],
          ['ios', 0],
        ] as const)
          it(`goes by a new token for ${platform} in the place of ${what}`, async () => {
            await before()
            meanwhile = () => register(KEY, 'another token', platform)
            await tell()
            await advance(1_000)
            expect(android.sent.map(({ pushToken }) => pushToken)).to.deep.equal(Array(told).fill('another token'))
            expect([isUnpushed(), lines]).to.deep.equal([false, []])
            expect([metrics.value('pushes_unsendable'), stores.clock.pending]).to.deep.equal([1 - told, 0])
          })
    })
  })

  describe('when the token is gone', () => {
    const gone: PushOutcome = { kind: 'token_gone', reason: 'the app was removed' }

    it('stops pushing until the station registers a token again, and says so once', async () => {
      android.always = gone
      await tell('one')
      await tell('two')
      expect(android.sent).to.have.length(1)
      expect(store.stations.get(KEY)?.devices[0]?.tokenDead).to.equal(true)
      expect(events('push-token-gone')).to.have.length(1)
      expect(events('push-token-gone')[0]).to.include({ token: '…CALL-7', station: KEY, reason: 'the app was removed' })
      expect(JSON.stringify(lines)).not.to.include('token-of-N0CALL-7')
      expect(metrics.value('push_tokens_gone')).to.equal(1)

      android.always = ACCEPTED
      await register(KEY, 'another token')
      await tell('three')
      expect(android.sent[1]).to.deep.include({ pushToken: 'another token' })
      expect(android.sent[1]?.notification).to.include({ body: 'three' })
    })

    it('goes on telling the other devices of the station, and says of none what it is called', async () => {
      await store.stations.register(registration(KEY, { deviceId: 'a-secret', pushToken: 'of the tablet' }))
      android.always = undefined
      for (const expected of [['of the tablet', 'token-of-N0CALL-7'], ['token-of-N0CALL-7']]) {
        const before = android.sent.length
        await receive()
        await stores.clock.advance(0)
        await android.arrived(before + expected.length)
        const sent = android.sent.slice(before)
        expect(sent.map(({ pushToken }) => pushToken)).to.have.members(expected)
        for (const { pushToken, answer } of sent) answer(pushToken === 'of the tablet' ? gone : ACCEPTED)
        await dispatched()
      }
      expect(store.stations.get(KEY)?.devices.map(({ tokenDead }) => tokenDead)).to.deep.equal([false, true])
      expect(events('push-token-gone')).to.have.length(1)
      expect(JSON.stringify(lines)).not.to.include('a-secret')
    })

    it('sends to the token that the station registered meanwhile', async () => {
      const first = await underWay()
      expect(dispatcher.underWay()).to.equal(1)
      await register(KEY, 'another token')
      first.answer(gone)
      const { pushToken, answer } = await arrival(2)
      answer(ACCEPTED)
      await dispatched()
      expect(pushToken).to.equal('another token')
      expect(store.stations.get(KEY)?.devices[0]?.tokenDead).to.equal(false)
      expect(isUnpushed()).to.equal(false)
    })
  })

  it('gives up on what is refused at once, with one line', async () => {
    android.always = { kind: 'refused', reason: 'no good' }
    await tell()
    expect(android.sent).to.have.length(1)
    expect(events('push-refused')).to.have.length(1)
    expect(events('push-refused')[0]).to.include({ level: 'error', reason: 'no good', token: '…CALL-7' })
    expect(metrics.value('pushes_refused')).to.equal(1)
    expect(isUnpushed()).to.equal(false)
    expect(stores.clock.pending).to.equal(0)
  })

  it('gives up on what a fault of our own keeps from being sent, and has room for the next', async () => {
    const faulty: PushGateway = { send: () => Promise.reject(new TypeError('token')), close: async () => {} }
    await start({ gateways: { android: faulty } })
    for (let i = 0; i <= MAX_IN_FLIGHT.android; i++) {
      await tell()
    }
    expect(events('push-refused')).to.have.length(MAX_IN_FLIGHT.android + 1)
    expect(events('push-refused')[0]).to.include({ reason: 'unexpected TypeError' })
    expect(isUnpushed()).to.equal(false)
  })

  describe('when a gateway fails for now', () => {
    beforeEach(() => {
      android.always = LATER
    })

    it('tries again with growing delays, and tells of what came meanwhile too', async () => {
      await tell('one')
      await advance(999)
      expect([android.sent.length, dispatcher.underWay()]).to.deep.equal([1, 0])
      await advance(1)
      expect(android.sent).to.have.length(2)
      await advance(2_999)
      expect(android.sent).to.have.length(2)
      await receive('two')
      android.always = ACCEPTED
      await advance(1)
      expect(android.sent).to.have.length(3)
      expect(android.sent[2]?.notification.data.count).to.equal('2')
      expect(metrics.value('pushes_retried')).to.equal(2)
      expect(isUnpushed()).to.equal(false)
      expect(stores.clock.pending).to.equal(0)
    })

    it('gives up within an hour and a bounded number of tries, with one line', async () => {
      await receive()
      const start = stores.clock.now()
      await dispatched()
      while (stores.clock.pending > 0) await advance(1_000)
      expect(stores.clock.now() - start).to.be.within(GIVE_UP_AFTER_MS / 2, GIVE_UP_AFTER_MS)
      expect(android.sent.length).to.be.within(10, MAX_TRIES)
      expect(events('push-given-up')).to.have.length(1)
      expect(events('push-given-up')[0]).to.include({ station: KEY, tries: android.sent.length, reason: 'down' })
      expect(metrics.value('pushes_given_up')).to.equal(1)
      expect(metrics.value('pushes_retried')).to.equal(android.sent.length - 1)
      expect(isUnpushed()).to.equal(false)
    })

    it('warns once a minute, however many stations there are', async () => {
      for (const key of ['N1CALL', 'N2CALL', 'N3CALL']) {
        await register(key)
        await tell('Hello', key)
      }
      expect(events('push-gateway-failing')).to.have.length(1)
      expect(events('push-gateway-failing')[0]).to.include({ level: 'warn', platform: 'android', reason: 'down' })
      await advance(60_000)
      await tell()
      expect(events('push-gateway-failing')).to.have.length(2)
    })
  })

  describe('when a gateway refuses the sidecar', () => {
    const REFUSED: PushOutcome = { kind: 'unauthorized', reason: 'check the key' }
    beforeEach(() => {
      android.always = REFUSED
    })

    it('tries again without an end, at most every 5 minutes, and never takes for told what nobody was told', async () => {
      await tell('one')
      await advance(1_000)
      await advance(3_000)
      expect(android.sent).to.have.length(3)
      for (let tries = 0; tries < 100; tries++) await advance(5 * 60_000)
      expect(stores.clock.elapsed()).to.be.above(8 * GIVE_UP_AFTER_MS)
      // The first ones follow one another more quickly.
      expect(android.sent.length).to.be.within(102, 110)
      expect(isUnpushed()).to.equal(true)
      expect(events('push-given-up')).to.deep.equal([])
      android.always = ACCEPTED
      await receive('two')
      await advance(5 * 60_000)
      expect(android.sent.at(-1)?.notification.data.count).to.equal('2')
      expect(isUnpushed()).to.equal(false)
      expect(stores.clock.pending).to.equal(0)
    })

    for (const kind of ['token_gone', 'refused'] as const) {
      it(`goes on saying so whatever is ${kind} without anybody being asked`, async () => {
        await tell()
        const said = dispatcher.gateways()[0]
        expect(said).to.include({ state: 'refusing', credentialsRefused: true })
        android.always = { kind, reason: 'it is no token', unasked: true }
        await register('N1CALL')
        await tell('Hello', 'N1CALL')
        expect(android.sent).to.have.length(2)
        expect(dispatcher.gateways()[0]).to.deep.equal(said)
        expect(events('push-authorized')).to.deep.equal([])
      })
    }

    it('says so once with what to mend, once more when that changes, and once when it is over', async () => {
      await register('N1CALL')
      for (const key of [KEY, 'N1CALL']) {
        await tell('Hello', key)
      }
      expect(events('push-unauthorized')).to.have.length(1)
      expect(events('push-unauthorized')[0]).to.include({
        level: 'error',
        platform: 'android',
        reason: 'check the key',
      })
      android.always = { ...REFUSED, reason: 'check the clock' }
      await advance(1_000)
      expect(events('push-unauthorized').map(({ reason }) => reason)).to.deep.equal([
        'check the key',
        'check the clock',
      ])
      android.always = LATER
      await advance(3_000)
      expect(events('push-authorized')).to.deep.equal([])
      android.always = ACCEPTED
      await advance(60_000)
      expect(events('push-authorized')).to.have.length(1)
      expect(lines.filter(({ level }) => level === 'error')).to.have.length(2)
    })
  })

  it('tries for a day after the newest message where a phone is away, without a warning, and then rests until there is news', async () => {
    android.always = { kind: 'phone_away', reason: 'off line' }
    await receive('one')
    const start = stores.clock.now()
    await dispatched()
    while (stores.clock.now() - start < DAY_MS / 2) await advance(60_000)
    await receive('two')
    while (stores.clock.pending > 0) await advance(60_000)
    expect(stores.clock.now() - start).to.be.within(1.5 * DAY_MS - 5 * 60_000, 1.5 * DAY_MS)
    expect(android.sent.length).to.be.within(432, 900)
    expect(android.sent.at(-1)?.notification.data.count).to.equal('2')
    expect(lines.filter(({ level }) => level === 'warn' || level === 'error')).to.deep.equal([])
    expect(dispatcher.gateways()[0]).to.include({ state: 'working' })
    expect(metrics.value('pushes_given_up')).to.equal(1)
    expect(isUnpushed()).to.equal(false)
  })

  it('counts as no latency of a gateway for how long a phone was away', async () => {
    android.always = { kind: 'phone_away', reason: 'off line' }
    await tell('one')
    android.always = ACCEPTED
    await advance(1000)
    await tell('two')
    expect(metrics.value('pushes_accepted')).to.equal(2)
    expect((await metrics.expose()).text).to.include('push_latency_seconds_count{platform="android"} 1\n')
  })

  it('counts elapsed time until it gives up, whatever the clock says', async () => {
    android.always = LATER
    stores.clock.set(1000)
    await tell()
    stores.clock.set(Date.UTC(2026, 0, 1))
    await advance(1_000)
    expect(events('push-given-up')).to.deep.equal([])
    stores.clock.set(1000)
    for (let minutes = 0; minutes < 65; minutes++) await advance(60_000)
    expect(events('push-given-up')).to.have.length(1)
    expect(events('push-gateway-failing').length).to.be.within(10, MAX_TRIES)
  })

  it('has at most 100 notifications in flight for a gateway, sends the rest in turn, and holds up no other gateway', async () => {
    const ios = new ManualGateway()
    ios.always = ACCEPTED
    android.always = undefined
    await start({ gateways: { android, ios } })
    const room = MAX_IN_FLIGHT.android
    expect(MAX_IN_FLIGHT).to.deep.equal({ android: 100, ios: 500, webpush: 100 })
    const keys = Array.from({ length: room + 20 }, (_, i) => `N${i}A`)
    for (const key of keys) {
      await register(key)
      await receive('Hello', key)
    }
    await register('I0S', 'ab', 'ios')
    await stores.clock.advance(0)
    await android.arrived(room)
    await receive('Hello', 'I0S')
    await stores.clock.advance(0)
    await ios.arrived(1)
    expect(android.sent).to.have.length(room)
    for (let i = 0; i < keys.length; i++) {
      expect(android.sent.length).to.be.at.most(room + i)
      const { answer } = await android.arrived(i + 1)
      answer(ACCEPTED)
    }
    await dispatched()
    expect(android.sent.map(({ pushToken }) => pushToken)).to.have.members(keys.map((key) => `token-of-${key}`))
    expect(isUnpushed()).to.equal(false)
  })

  describe('when the database fails', () => {
    const broken = () => Promise.reject(new Error('disk full'))

    it('asks again when it cannot read whom to notify, and warns once a minute', async () => {
      let working = false
      let askAgain = () => {}
      await start({
        pushes: (original) => ({
          ...original,
          claim: (room) => (working ? original.claim(room) : broken()),
          onDue(listener) {
            askAgain = listener
            original.onDue(listener)
          },
        }),
      })
      await tell()
      askAgain()
      await dispatched()
      expect(events('push-queue-failing')).to.have.length(1)
      await advance(60_000)
      askAgain()
      await dispatched()
      expect(events('push-queue-failing')).to.have.length(2)
      expect(android.sent).to.have.length(0)
      working = true
      askAgain()
      await dispatched()
      expect(android.sent).to.have.length(1)
    })

    it('tries again when it cannot read the avatar, and gives up in the end when it stays broken', async () => {
      await start({ stations: (original) => ({ ...original, avatars: broken }) })
      await register('W1AW', 'token', 'android', { icon: 'car', image: '', hash: 'icon:car' })
      await tell()
      while (stores.clock.pending > 0) await advance(5 * 60_000)
      expect(android.sent).to.have.length(0)
      expect(metrics.value('pushes_retried')).to.be.within(9, MAX_TRIES - 1)
      expect(events('push-given-up')).to.have.length(1)
      expect(events('push-given-up')[0]).to.include({ reason: 'the database failed (disk full)' })
      expect(isUnpushed()).to.equal(false)
    })

    it('tries again when it cannot note that a token is gone', async () => {
      let working = false
      await start({
        stations: (original) => ({
          ...original,
          markTokenDead: (...token) => (working ? original.markTokenDead(...token) : broken()),
        }),
      })
      android.always = { kind: 'token_gone', reason: 'the app was removed' }
      await tell()
      expect(store.stations.get(KEY)?.devices[0]?.tokenDead).to.equal(false)
      working = true
      await advance(1_000)
      expect(android.sent).to.have.length(2)
      expect(store.stations.get(KEY)?.devices[0]?.tokenDead).to.equal(true)
      expect(isUnpushed()).to.equal(false)
    })

    it('goes on when it cannot note that a notification is settled', async () => {
      await start({
        pushes: (original) => ({ ...original, settle: (claim) => original.settle(claim).then(broken) }),
      })
      await tell()
      expect(events('push-not-marked')).to.have.length(1)
      await tell('two')
      expect(android.sent).to.have.length(2)
      expect(metrics.value('pushes_accepted')).to.equal(2)
    })
  })

  describe('when it is closed', () => {
    it('plans nothing more and leaves for the next start what is unpushed', async () => {
      android.always = LATER
      await tell()
      await dispatcher.close()
      expect(stores.clock.pending).to.equal(0)
      expect(dispatcher.underWay()).to.equal(0)
      await advance(GIVE_UP_AFTER_MS)
      expect(android.sent).to.have.length(1)
      expect(await left()).to.deep.equal([KEY])
    })

    it('sends nothing of what it claims at that moment, and hands it back', async () => {
      let closing: Promise<void> | undefined
      await start({
        pushes: (original) => ({
          ...original,
          async claim(room) {
            const claims = await original.claim(room)
            closing = dispatcher.close()
            return claims
          },
        }),
      })
      await tell()
      await closing
      expect(android.sent).to.have.length(0)
      expect(await left()).to.deep.equal([KEY])
    })

    it('waits for an answer that is under way, and notes it', async () => {
      const { answer } = await underWay()
      const closing = dispatcher.close()
      await stores.clock.advance(GRACE_MS - 1)
      answer(ACCEPTED)
      await closing
      expect(isUnpushed()).to.equal(false)
      expect(stores.clock.pending).to.equal(0)
    })

    it('waits 2 s at most, closes the gateways then, and can be closed twice', async () => {
      await underWay()
      const closing = Promise.all([dispatcher.close(), dispatcher.close()])
      await stores.clock.advance(GRACE_MS)
      await closing
      expect(android.closed).to.equal(1)
      // That is no fault of the gateway.
      expect([metrics.value('pushes_retried'), lines]).to.deep.equal([0, []])
      expect(isUnpushed()).to.equal(true)
      expect(stores.clock.pending).to.equal(0)
    })
  })
})
