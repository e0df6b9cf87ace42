import { expect } from 'chai'
import { GRACE_MS } from '../../../../sidecar/push/delivery/dispatcher.ts'
import { GIVE_UP_AFTER_MS } from '../../../../sidecar/push/delivery/retry-plan.ts'
import { MAX_IN_FLIGHT } from '../../../../sidecar/push/delivery/send-slots.ts'
import type { PushGateway, PushOutcome } from '../../../../sidecar/push/gateway/gateway.ts'
import { registration } from '../../store/sqlite/temporary-stores.ts'
import { ACCEPTED, Dispatching, KEY, LATER, ManualGateway } from './dispatching.ts'

describe('The dispatcher', () => {
  const its = new Dispatching()

  it('tells a phone of a message once', async () => {
    await its.tell('Hello')
    await its.dispatched()
    expect(its.android.sent).to.have.length(1)
    expect(its.android.sent[0]).to.deep.include({ pushToken: 'token-of-N0CALL-7' })
    expect(its.android.sent[0]?.notification).to.include({ title: 'W1AW', body: 'Hello' })
    expect([its.metrics.value('pushes_claimed'), its.metrics.value('pushes_accepted')]).to.deep.equal([1, 1])
    expect(its.isUnpushed()).to.equal(false)
  })

  // Shows: sidecar O1.4.
  it('says of each gateway what it last answered, and how many stations wait for it', async () => {
    const state = () => its.dispatcher.gateways()[0]
    expect(its.dispatcher.gateways().map(({ platform }) => platform)).to.deep.equal(['android'])
    expect(state()).to.include({ state: 'unused', waiting: 0 })
    its.android.always = LATER
    await its.tell()
    expect(state()).to.include({ state: 'failing', waiting: 1 })
    its.android.always = ACCEPTED
    await its.advance(1000)
    expect(state()).to.include({ state: 'working', waiting: 0, lastAcceptedAt: its.stores.clock.now() })
  })

  describe('when there is nowhere to send to', () => {
    const UNSENDABLE = [
      ['a dead token', () => its.store.stations.markTokenDead(KEY, '', 'token-of-N0CALL-7')],
      ['a platform without a gateway', () => its.register(KEY, 'token', 'ios')],
    ] as const

    // Shows: sidecar 19.5, C1.5.
    for (const [what, before] of UNSENDABLE)
      it(`counts messages to ${what} and lets them rest, without a word`, async () => {
        await before()
        await its.tell()
        expect([its.android.sent, its.lines, its.isUnpushed()]).to.deep.equal([[], [], false])
        expect(its.metrics.value('pushes_unsendable')).to.equal(1)
      })

    describe('and the phone registers anew meanwhile', () => {
      let meanwhile = () => its.register()
      beforeEach(async () => {
        await its.start({
          stations: (original) => ({
            ...original,
            async avatars(keys) {
              await meanwhile()
              return original.avatars(keys)
            },
          }),
        })
        await its.register('W1AW', 'token-of-W1AW', 'android', { icon: 'car', image: '', hash: 'icon:car' })
      })

      for (const [what, before] of UNSENDABLE)
        for (const [platform, told] of [
          ['android', 1],
          ['ios', 0],
        ] as const)
          it(`goes by a new token for ${platform} in the place of ${what}`, async () => {
            await before()
            meanwhile = () => its.register(KEY, 'another token', platform)
            await its.tell()
            await its.advance(1_000)
            expect(its.android.sent.map(({ pushToken }) => pushToken)).to.deep.equal(Array(told).fill('another token'))
            expect([its.isUnpushed(), its.lines]).to.deep.equal([false, []])
            expect([its.metrics.value('pushes_unsendable'), its.stores.clock.pending]).to.deep.equal([1 - told, 0])
          })
    })
  })

  describe('when the token is gone', () => {
    const reason = 'the app was removed'
    const gone: PushOutcome = { kind: 'token_gone', reason }

    // Shows: sidecar 9.3, 11.17, C5.10, C9.7.
    it('stops pushing until the station registers a token again, and says so once', async () => {
      its.android.always = gone
      await its.tell('one')
      await its.tell('two')
      expect(its.android.sent).to.have.length(1)
      expect(its.store.stations.get(KEY)?.devices[0]?.tokenDead).to.equal(true)
      expect(its.events('push-token-gone')).to.have.length(1)
      expect(its.events('push-token-gone')[0]).to.include({ token: '…CALL-7', station: KEY, reason })
      expect(JSON.stringify(its.lines)).not.to.include('token-of-N0CALL-7')
      expect(its.metrics.value('push_tokens_gone')).to.equal(1)

      its.android.always = ACCEPTED
      await its.register(KEY, 'another token')
      await its.tell('three')
      expect(its.android.sent[1]).to.deep.include({ pushToken: 'another token' })
      expect(its.android.sent[1]?.notification).to.include({ body: 'three' })
    })

    it('marks one dead token, notifies the other devices, and logs no device id', async () => {
      await its.store.stations.register(registration(KEY, { deviceId: 'a-secret', pushToken: 'of the tablet' }))
      its.android.always = undefined
      for (const expected of [['of the tablet', 'token-of-N0CALL-7'], ['token-of-N0CALL-7']]) {
        const before = its.android.sent.length
        await its.receive()
        await its.stores.clock.advance(0)
        await its.android.arrived(before + expected.length)
        const sent = its.android.sent.slice(before)
        expect(sent.map(({ pushToken }) => pushToken)).to.have.members(expected)
        for (const { pushToken, answer } of sent) answer(pushToken === 'of the tablet' ? gone : ACCEPTED)
        await its.dispatched()
      }
      expect(its.store.stations.get(KEY)?.devices.map(({ tokenDead }) => tokenDead)).to.deep.equal([false, true])
      expect(its.events('push-token-gone')).to.have.length(1)
      expect(JSON.stringify(its.lines)).not.to.include('a-secret')
    })

    // Shows: sidecar C9.7.
    it('sends to the token that the station registered meanwhile', async () => {
      const first = await its.underWay()
      expect(its.dispatcher.inFlight()).to.equal(1)
      await its.register(KEY, 'another token')
      first.answer(gone)
      const { pushToken, answer } = await its.arrival(2)
      answer(ACCEPTED)
      await its.dispatched()
      expect(pushToken).to.equal('another token')
      expect(its.store.stations.get(KEY)?.devices[0]?.tokenDead).to.equal(false)
      expect(its.isUnpushed()).to.equal(false)
    })
  })

  // Shows: sidecar C9.12.
  it('gives up on what is refused at once, with one line', async () => {
    its.android.always = { kind: 'refused', reason: 'no good' }
    await its.tell()
    expect(its.android.sent).to.have.length(1)
    expect(its.events('push-refused')).to.have.length(1)
    expect(its.events('push-refused')[0]).to.include({ level: 'error', reason: 'no good', token: '…CALL-7' })
    expect(its.metrics.value('pushes_refused')).to.equal(1)
    expect(its.isUnpushed()).to.equal(false)
    expect(its.stores.clock.pending).to.equal(0)
  })

  it('gives up a notification on an internal fault, and frees its slot', async () => {
    const faulty: PushGateway = { send: () => Promise.reject(new TypeError('token')), close: async () => {} }
    await its.start({ gateways: { android: faulty } })
    for (let i = 0; i <= MAX_IN_FLIGHT.android; i++) {
      await its.tell()
    }
    expect(its.events('push-refused')).to.have.length(MAX_IN_FLIGHT.android + 1)
    expect(its.events('push-refused')[0]).to.include({ reason: 'unexpected TypeError' })
    expect(its.isUnpushed()).to.equal(false)
  })

  // Shows: sidecar C9.15, C9.16, C16.11.
  it('limits a gateway to 100 notifications in flight without delaying others', async () => {
    const ios = new ManualGateway()
    ios.always = ACCEPTED
    its.android.always = undefined
    await its.start({ gateways: { android: its.android, ios } })
    const room = MAX_IN_FLIGHT.android
    expect(MAX_IN_FLIGHT).to.deep.equal({ android: 100, ios: 500, webpush: 500 })
    const keys = Array.from({ length: room + 20 }, (_, i) => `N${i}A`)
    for (const key of keys) {
      await its.register(key)
      await its.receive('Hello', key)
    }
    await its.register('I0S', 'ab', 'ios')
    await its.stores.clock.advance(0)
    await its.android.arrived(room)
    await its.receive('Hello', 'I0S')
    await its.stores.clock.advance(0)
    await ios.arrived(1)
    expect(its.android.sent).to.have.length(room)
    for (let i = 0; i < keys.length; i++) {
      expect(its.android.sent.length).to.be.at.most(room + i)
      const { answer } = await its.android.arrived(i + 1)
      answer(ACCEPTED)
    }
    await its.dispatched()
    expect(its.android.sent.map(({ pushToken }) => pushToken)).to.have.members(keys.map((key) => `token-of-${key}`))
    expect(its.isUnpushed()).to.equal(false)
  })

  describe('when it is closed', () => {
    it('plans nothing more and leaves for the next start what is unpushed', async () => {
      its.android.always = LATER
      await its.tell()
      await its.dispatcher.close()
      expect(its.stores.clock.pending).to.equal(0)
      expect(its.dispatcher.inFlight()).to.equal(0)
      await its.advance(GIVE_UP_AFTER_MS)
      expect(its.android.sent).to.have.length(1)
      expect(await its.left()).to.deep.equal([KEY])
    })

    it('sends nothing of what it claims at that moment, and hands it back', async () => {
      let closing: Promise<void> | undefined
      await its.start({
        pushes: (original) => ({
          ...original,
          async claim(room) {
            const claims = await original.claim(room)
            closing = its.dispatcher.close()
            return claims
          },
        }),
      })
      await its.tell()
      await closing
      expect(its.android.sent).to.have.length(0)
      expect(await its.left()).to.deep.equal([KEY])
    })

    it('waits for an answer that is under way, and notes it', async () => {
      const { answer } = await its.underWay()
      const closing = its.dispatcher.close()
      await its.stores.clock.advance(GRACE_MS - 1)
      answer(ACCEPTED)
      await closing
      expect(its.isUnpushed()).to.equal(false)
      expect(its.stores.clock.pending).to.equal(0)
    })

    it('waits 2 s at most, closes the gateways then, and can be closed twice', async () => {
      await its.underWay()
      const closing = Promise.all([its.dispatcher.close(), its.dispatcher.close()])
      await its.stores.clock.advance(GRACE_MS)
      await closing
      expect(its.android.closed).to.equal(1)
      // That is no fault of the gateway.
      expect([its.metrics.value('pushes_retried'), its.lines]).to.deep.equal([0, []])
      expect(its.isUnpushed()).to.equal(true)
      expect(its.stores.clock.pending).to.equal(0)
    })
  })
})
