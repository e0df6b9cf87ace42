import { expect } from 'chai'
import { GRACE_MS } from '../../../../sidecar/push/delivery/dispatcher.ts'
import { GIVE_UP_AFTER_MS } from '../../../../sidecar/push/delivery/retry-plan.ts'
import { MAX_IN_FLIGHT } from '../../../../sidecar/push/delivery/send-slots.ts'
import type { PushGateway, PushOutcome } from '../../../../sidecar/push/gateway/gateway.ts'
import { registration } from '../../store/sqlite/temporary-stores.ts'
import { ACCEPTED, Dispatching, KEY, LATER, ManualGateway } from './dispatching.ts'

describe('The push dispatcher', () => {
  const setup = new Dispatching()

  it('notifies a phone of a message once', async () => {
    await setup.tell('Hello')
    await setup.dispatched()
    expect(setup.android.sent).to.have.length(1)
    expect(setup.android.sent[0]).to.deep.include({ pushToken: 'token-of-N0CALL-7' })
    expect(setup.android.sent[0]?.notification).to.include({ title: 'W1AW', body: 'Hello' })
    expect(setup.metrics.value('pushes_claimed')).to.equal(1)
    expect(setup.metrics.value('pushes_accepted')).to.equal(1)
    expect(setup.isUnpushed()).to.equal(false)
  })

  // Shows: sidecar O1.4.
  it("reports each push gateway's state and its number of stations with waiting pushes", async () => {
    const state = () => setup.dispatcher.gateways()[0]
    expect(setup.dispatcher.gateways().map(({ platform }) => platform)).to.deep.equal(['android'])
    expect(state()).to.include({ state: 'unused', waiting: 0 })
    setup.android.always = LATER
    await setup.tell()
    expect(state()).to.include({ state: 'failing', waiting: 1 })
    setup.android.always = ACCEPTED
    await setup.advance(1000)
    expect(state()).to.include({ state: 'working', waiting: 0, lastAcceptedAt: setup.stores.clock.now() })
  })

  const RESULTS: readonly (readonly [outcome: PushOutcome, shown: string | undefined, reason: string | null])[] = [
    [ACCEPTED, 'accepted', null],
    [{ kind: 'refused', reason: 'x'.repeat(400) }, 'refused', 'x'.repeat(300)],
    [{ kind: 'token_gone', reason: 'the app was removed' }, 'token_gone', 'the app was removed'],
    [{ kind: 'try_later', reason: 'it is down' }, 'try_later', 'it is down'],
    [{ kind: 'phone_away', reason: 'it is offline' }, 'phone_away', 'it is offline'],
    [{ kind: 'unauthorized', reason: 'wrong key' }, 'unauthorized', 'wrong key'],
    [{ kind: 'busy', reason: 'too many', afterMs: 1000, unasked: true }, undefined, null],
  ]
  // Shows: sidecar O2.1.
  for (const [outcome, shown, reason] of RESULTS)
    it(`the operator's report shows the last push after the outcome ${outcome.kind}`, async () => {
      setup.android.always = outcome
      await setup.tell()
      await setup.dispatched()
      const lastPush = (await setup.store.reports.get(KEY))?.devices[0]?.lastPush
      const now = setup.stores.clock.now()
      expect(lastPush).to.deep.equal(shown === undefined ? null : { at: now, outcome: shown, reason })
    })

  it('the operator sees that the platform of a device has no gateway', async () => {
    await setup.register(KEY, 'token', 'ios')
    await setup.tell()
    const { devices } = (await setup.store.reports.get(KEY)) ?? { devices: [] }
    expect(devices[0]?.lastPush).to.include({ outcome: 'gateway_off' })
  })

  describe('The dispatcher if a device cannot be notified', () => {
    const UNSENDABLE = [
      ['a dead token', () => setup.store.stations.markTokenDead(KEY, '', 'token-of-N0CALL-7')],
      ['a platform without a gateway', () => setup.register(KEY, 'token', 'ios')],
    ] as const

    // Shows: sidecar 19.5, C1.5.
    for (const [name, earlier] of UNSENDABLE)
      it(`counts and drops push notifications to ${name}, without logging`, async () => {
        await earlier()
        await setup.tell()
        expect(setup.android.sent).to.deep.equal([])
        expect(setup.lines).to.deep.equal([])
        expect(setup.isUnpushed()).to.equal(false)
        expect(setup.metrics.value('pushes_unsendable')).to.equal(1)
      })

    describe('A phone that registers while the dispatcher drops its notification', () => {
      let meanwhile = () => setup.register()
      beforeEach(async () => {
        await setup.start({
          stations: (original) => ({
            ...original,
            async avatars(keys) {
              await meanwhile()
              return original.avatars(keys)
            },
          }),
        })
        await setup.register('W1AW', 'token-of-W1AW', 'android', { icon: 'car', image: '', hash: 'icon:car' })
      })

      for (const [name, earlier] of UNSENDABLE)
        for (const [platform, stations] of [
          ['android', 1],
          ['ios', 0],
        ] as const)
          it(`a new ${platform} push token takes effect at once after ${name}`, async () => {
            await earlier()
            meanwhile = () => setup.register(KEY, 'another token', platform)
            await setup.tell()
            await setup.advance(1_000)
            expect(setup.android.sent.map(({ pushToken }) => pushToken)).to.deep.equal(
              Array(stations).fill('another token'),
            )
            const warnings = setup.lines.filter(({ level }) => level !== 'debug')
            expect(setup.isUnpushed()).to.equal(false)
            expect(warnings).to.deep.equal([])
            expect(setup.metrics.value('pushes_unsendable')).to.equal(1 - stations)
            expect(setup.stores.clock.pending).to.equal(0)
          })
    })
  })

  describe('The dispatcher if a push token is gone', () => {
    const reason = 'the app was removed'
    const removed: PushOutcome = { kind: 'token_gone', reason }

    // Shows: sidecar 9.3, 11.17, C5.10, C9.7.
    it('sends nothing to a dead push token until the station registers another token', async () => {
      setup.android.always = removed
      await setup.tell('one')
      await setup.tell('two')
      expect(setup.android.sent).to.have.length(1)
      expect(setup.store.stations.get(KEY)?.devices[0]?.tokenDead).to.equal(true)
      expect(setup.events('push-token-gone')).to.have.length(1)
      expect(setup.events('push-token-gone')[0]).to.include({ token: '…CALL-7', station: KEY, reason })
      expect(JSON.stringify(setup.lines)).not.to.include('token-of-N0CALL-7')
      expect(setup.metrics.value('push_tokens_gone')).to.equal(1)

      setup.android.always = ACCEPTED
      await setup.register(KEY, 'another token')
      await setup.tell('three')
      expect(setup.android.sent[1]).to.deep.include({ pushToken: 'another token' })
      expect(setup.android.sent[1]?.notification).to.include({ body: 'three' })
    })

    it('a dead token ends pushes to its device only, and the log shows no device id', async () => {
      await setup.store.stations.register(registration(KEY, { deviceId: 'a-secret', pushToken: 'of the tablet' }))
      setup.android.always = undefined
      for (const expected of [['of the tablet', 'token-of-N0CALL-7'], ['token-of-N0CALL-7']]) {
        const countBefore = setup.android.sent.length
        await setup.receive()
        await setup.stores.clock.advance(0)
        await setup.android.arrived(countBefore + expected.length)
        const sent = setup.android.sent.slice(countBefore)
        expect(sent.map(({ pushToken }) => pushToken)).to.have.members(expected)
        for (const { pushToken, answer } of sent) answer(pushToken === 'of the tablet' ? removed : ACCEPTED)
        await setup.dispatched()
      }
      expect(setup.store.stations.get(KEY)?.devices.map(({ tokenDead }) => tokenDead)).to.deep.equal([false, true])
      expect(setup.events('push-token-gone')).to.have.length(1)
      expect(JSON.stringify(setup.lines)).not.to.include('a-secret')
    })

    // Shows: sidecar C9.7.
    it('a push token registered while the old token fails is used at once', async () => {
      const first = await setup.underWay()
      expect(setup.dispatcher.inFlight()).to.equal(1)
      await setup.register(KEY, 'another token')
      first.answer(removed)
      const { pushToken, answer } = await setup.arrival(2)
      answer(ACCEPTED)
      await setup.dispatched()
      expect(pushToken).to.equal('another token')
      expect(setup.store.stations.get(KEY)?.devices[0]?.tokenDead).to.equal(false)
      expect(setup.isUnpushed()).to.equal(false)
    })
  })

  // Shows: sidecar C9.12.
  it('a notification that a push gateway refuses is dropped at once, with one log line', async () => {
    setup.android.always = { kind: 'refused', reason: 'no good' }
    await setup.tell()
    expect(setup.android.sent).to.have.length(1)
    expect(setup.events('push-refused')).to.have.length(1)
    expect(setup.events('push-refused')[0]).to.include({ level: 'error', reason: 'no good', token: '…CALL-7' })
    expect(setup.metrics.value('pushes_refused')).to.equal(1)
    expect(setup.isUnpushed()).to.equal(false)
    expect(setup.stores.clock.pending).to.equal(0)
  })

  it('drops a notification and frees its slot if the gateway throws an internal error', async () => {
    const faulty: PushGateway = { send: () => Promise.reject(new TypeError('token')), close: async () => {} }
    await setup.start({ gateways: { android: faulty } })
    for (let i = 0; i <= MAX_IN_FLIGHT.android; i++) {
      await setup.tell()
    }
    expect(setup.events('push-refused')).to.have.length(MAX_IN_FLIGHT.android + 1)
    expect(setup.events('push-refused')[0]).to.include({ reason: 'unexpected TypeError' })
    expect(setup.isUnpushed()).to.equal(false)
  })

  // Shows: sidecar C9.15, C9.16, C16.11.
  it('at most 100 Android notifications are in flight, and other gateways do not wait', async () => {
    const ios = new ManualGateway()
    ios.always = ACCEPTED
    setup.android.always = undefined
    await setup.start({ gateways: { android: setup.android, ios } })
    const room = MAX_IN_FLIGHT.android
    expect(MAX_IN_FLIGHT).to.deep.equal({ android: 100, ios: 500, webpush: 500 })
    const keys = Array.from({ length: room + 20 }, (_, i) => `N${i}A`)
    for (const key of keys) {
      await setup.register(key)
      await setup.receive('Hello', key)
    }
    await setup.register('I0S', 'ab', 'ios')
    await setup.stores.clock.advance(0)
    await setup.android.arrived(room)
    await setup.receive('Hello', 'I0S')
    await setup.stores.clock.advance(0)
    await ios.arrived(1)
    expect(setup.android.sent).to.have.length(room)
    for (let i = 0; i < keys.length; i++) {
      expect(setup.android.sent.length).to.be.at.most(room + i)
      const { answer } = await setup.android.arrived(i + 1)
      answer(ACCEPTED)
    }
    await setup.dispatched()
    expect(setup.android.sent.map(({ pushToken }) => pushToken)).to.have.members(keys.map((key) => `token-of-${key}`))
    expect(setup.isUnpushed()).to.equal(false)
  })

  describe('The closing of the dispatcher', () => {
    it('closing the dispatcher cancels retries, but keeps unsent pushes in the store', async () => {
      setup.android.always = LATER
      await setup.tell()
      await setup.dispatcher.close()
      expect(setup.stores.clock.pending).to.equal(0)
      expect(setup.dispatcher.inFlight()).to.equal(0)
      await setup.advance(GIVE_UP_AFTER_MS)
      expect(setup.android.sent).to.have.length(1)
      expect(await setup.left()).to.deep.equal([KEY])
    })

    it('the dispatcher sends none of the notifications that it claims while it closes', async () => {
      let closing: Promise<void> | undefined
      await setup.start({
        pushes: (original) => ({
          ...original,
          async claim(room) {
            const claims = await original.claim(room)
            closing = setup.dispatcher.close()
            return claims
          },
        }),
      })
      await setup.tell()
      await closing
      expect(setup.android.sent).to.have.length(0)
      expect(await setup.left()).to.deep.equal([KEY])
    })

    it("closing the dispatcher waits for a gateway's pending answer, and records it", async () => {
      const { answer } = await setup.underWay()
      const closing = setup.dispatcher.close()
      await setup.stores.clock.advance(GRACE_MS - 1)
      answer(ACCEPTED)
      await closing
      expect(setup.isUnpushed()).to.equal(false)
      expect(setup.stores.clock.pending).to.equal(0)
    })

    it('closing the dispatcher waits at most 2 s for answers, and is idempotent', async () => {
      await setup.underWay()
      const closing = Promise.all([setup.dispatcher.close(), setup.dispatcher.close()])
      await setup.stores.clock.advance(GRACE_MS)
      await closing
      expect(setup.android.closed).to.equal(1)
      // The end of the wait is no fault of the gateway, so nothing is logged.
      expect(setup.metrics.value('pushes_retried')).to.equal(0)
      expect(setup.lines).to.deep.equal([])
      expect(setup.isUnpushed()).to.equal(true)
      expect(setup.stores.clock.pending).to.equal(0)
    })
  })
})
