import { expect } from 'chai'
import { GIVE_UP_AFTER_MS, MAX_TRIES } from '../../../../sidecar/push/delivery/retry-plan.ts'
import type { PushOutcome } from '../../../../sidecar/push/gateway/gateway.ts'
import { ACCEPTED, Dispatching, KEY, LATER } from './dispatching.ts'

const DAY_MS = 24 * 60 * 60_000

describe('The retries of the push dispatcher', () => {
  const setup = new Dispatching()

  describe('The dispatcher when a gateway fails temporarily', () => {
    beforeEach(() => {
      setup.android.always = LATER
    })

    // Shows: sidecar C5.11, C9.13.
    it('retries a failed push after growing delays, with the current message count', async () => {
      await setup.tell('one')
      await setup.advance(999)
      expect(setup.android.sent).to.have.length(1)
      expect(setup.dispatcher.inFlight()).to.equal(0)
      await setup.advance(1)
      expect(setup.android.sent).to.have.length(2)
      await setup.advance(2_999)
      expect(setup.android.sent).to.have.length(2)
      await setup.receive('two')
      setup.android.always = ACCEPTED
      await setup.advance(1)
      expect(setup.android.sent).to.have.length(3)
      expect(setup.android.sent[2]?.notification.data.count).to.equal('2')
      expect(setup.metrics.value('pushes_retried')).to.equal(2)
      expect(setup.isUnpushed()).to.equal(false)
      expect(setup.stores.clock.pending).to.equal(0)
    })

    // Shows: sidecar 2.7, C9.13.
    it('gives up a push within an hour and at most MAX_TRIES tries, with one log line', async () => {
      await setup.receive()
      const start = setup.stores.clock.now()
      await setup.dispatched()
      while (setup.stores.clock.pending > 0) await setup.advance(1_000)
      expect(setup.stores.clock.now() - start).to.be.within(GIVE_UP_AFTER_MS / 2, GIVE_UP_AFTER_MS)
      const { length: tries } = setup.android.sent
      expect(tries).to.be.within(10, MAX_TRIES)
      expect(setup.events('push-given-up')).to.have.length(1)
      expect(setup.events('push-given-up')[0]).to.include({ station: KEY, tries, reason: 'down' })
      expect(setup.metrics.value('pushes_given_up')).to.equal(1)
      expect(setup.metrics.value('pushes_retried')).to.equal(tries - 1)
      expect(setup.isUnpushed()).to.equal(false)
    })

    it('warns of a failing push gateway once a minute, for any number of stations', async () => {
      for (const key of ['N1CALL', 'N2CALL', 'N3CALL']) {
        await setup.register(key)
        await setup.tell('Hello', key)
      }
      expect(setup.events('push-gateway-failing')).to.have.length(1)
      expect(setup.events('push-gateway-failing')[0]).to.include({ level: 'warn', platform: 'android', reason: 'down' })
      await setup.advance(60_000)
      await setup.tell()
      expect(setup.events('push-gateway-failing')).to.have.length(2)
    })
  })

  describe('The dispatcher when a gateway refuses its credentials', () => {
    const reason = 'check the key'
    const REFUSED: PushOutcome = { kind: 'unauthorized', reason }
    beforeEach(() => {
      setup.android.always = REFUSED
    })

    // Shows: sidecar C9.18.
    it('retries endlessly, every 5 minutes at most, if a gateway refuses the credentials', async () => {
      await setup.tell('one')
      await setup.advance(1_000)
      await setup.advance(3_000)
      expect(setup.android.sent).to.have.length(3)
      for (let tries = 0; tries < 100; tries++) await setup.advance(5 * 60_000)
      expect(setup.stores.clock.elapsed()).to.be.above(8 * GIVE_UP_AFTER_MS)
      // The first retries follow one another more quickly.
      expect(setup.android.sent.length).to.be.within(102, 110)
      expect(setup.isUnpushed()).to.equal(true)
      expect(setup.events('push-given-up')).to.deep.equal([])
      setup.android.always = ACCEPTED
      await setup.receive('two')
      await setup.advance(5 * 60_000)
      expect(setup.android.sent.at(-1)?.notification.data.count).to.equal('2')
      expect(setup.isUnpushed()).to.equal(false)
      expect(setup.stores.clock.pending).to.equal(0)
    })

    for (const kind of ['token_gone', 'refused'] as const) {
      it(`a ${kind} outcome without a request to the gateway leaves its state unchanged`, async () => {
        await setup.tell()
        const gatewayState = setup.dispatcher.gateways()[0]
        expect(gatewayState).to.include({ state: 'refusing', credentialsRefused: true })
        setup.android.always = { kind, reason: 'it is no token', unasked: true }
        await setup.register('N1CALL')
        await setup.tell('Hello', 'N1CALL')
        expect(setup.android.sent).to.have.length(2)
        expect(setup.dispatcher.gateways()[0]).to.deep.equal(gatewayState)
        expect(setup.events('push-authorized')).to.deep.equal([])
      })
    }

    // Shows: sidecar C9.18.
    it("logs a gateway's refusal once per reason, and once when the refusal ends", async () => {
      await setup.register('N1CALL')
      for (const key of [KEY, 'N1CALL']) {
        await setup.tell('Hello', key)
      }
      expect(setup.events('push-unauthorized')).to.have.length(1)
      expect(setup.events('push-unauthorized')[0]).to.include({ level: 'error', platform: 'android', reason })
      setup.android.always = { ...REFUSED, reason: 'check the clock' }
      await setup.advance(1_000)
      expect(setup.events('push-unauthorized').map(({ reason }) => reason)).to.deep.equal([reason, 'check the clock'])
      setup.android.always = LATER
      await setup.advance(3_000)
      expect(setup.events('push-authorized')).to.deep.equal([])
      setup.android.always = ACCEPTED
      await setup.advance(60_000)
      expect(setup.events('push-authorized')).to.have.length(1)
      expect(setup.lines.filter(({ level }) => level === 'error')).to.have.length(2)
    })
  })

  describe('The dispatcher if a gateway reports every token as dead', () => {
    const GONE: PushOutcome = { kind: 'token_gone', reason: 'of another project' }
    const keys = Array.from({ length: 25 }, (_, index) => `N${index}CALL`)
    const isDead = (key: string) => setup.store.stations.get(key)?.devices[0]?.tokenDead
    const deadTokens = () => keys.filter(isDead).length

    async function tellAll(): Promise<void> {
      for (const key of keys) await setup.register(key)
      for (const key of keys) await setup.tell('Hello', key)
    }

    it('distrusts a gateway after 20 dead tokens in a row, and keeps unsent pushes', async () => {
      setup.android.always = GONE
      await tellAll()
      expect(deadTokens()).to.equal(20)
      expect(setup.dispatcher.gateways()[0]).to.include({ tokensDoubted: true, waiting: 5 })
      expect(setup.metrics.value('push_tokens_gone')).to.equal(20)
      expect(setup.metrics.value('pushes_refused')).to.equal(0)
      expect(setup.events('push-tokens-doubted')).to.have.length(1)
      expect(setup.events('push-tokens-doubted')[0]?.msg).to.include('push.fcm.serviceAccountFile')
    })

    it('trusts a push gateway again once it accepts a token, and sends waiting pushes', async () => {
      setup.android.always = GONE
      await tellAll()
      setup.android.always = ACCEPTED
      await setup.advance(5 * 60_000)
      expect(setup.dispatcher.gateways()[0]).to.include({ tokensDoubted: false, waiting: 0 })
      expect(setup.events('push-tokens-trusted')).to.have.length(1)
      setup.android.always = GONE
      await setup.tell('Hello', keys[24])
      expect(deadTokens()).to.equal(21)
    })

    it('marks tokens as dead if the gateway reports at most 19 dead ones in a row', async () => {
      for (const key of keys) await setup.register(key)
      for (const [index, key] of keys.entries()) {
        setup.android.always = index === 19 ? { kind: 'refused', reason: 'too big' } : GONE
        await setup.tell('Hello', key)
      }
      expect(deadTokens()).to.equal(24)
      expect(setup.events('push-tokens-doubted')).to.deep.equal([])
    })
  })

  it('retries a busy push service without limit, and pushes_retried stays 0', async () => {
    setup.android.always = { kind: 'busy', reason: 'busy', afterMs: 500, unasked: true }
    await setup.tell()
    await setup.advance(500 * 50)
    expect(setup.android.sent.length).to.be.within(50, 51)
    expect(setup.metrics.value('pushes_retried')).to.equal(0)
    expect(setup.dispatcher.gateways()[0]).to.include({ state: 'unused' })
    setup.android.always = ACCEPTED
    await setup.advance(500)
    expect(setup.metrics.value('pushes_accepted')).to.equal(1)
    expect(setup.isUnpushed()).to.equal(false)
  })

  it('counts notifications that wait for credentials as retried, not as refused', async () => {
    setup.android.always = { kind: 'unauthorized', reason: 'check the key' }
    await setup.tell()
    await setup.advance(1_000)
    expect(setup.metrics.value('pushes_refused')).to.equal(0)
    expect(setup.metrics.value('pushes_retried')).to.equal(2)
  })

  // Shows: sidecar C14.15.
  it('an offline phone causes retries for a day after the last message, but no warning', async () => {
    setup.android.always = { kind: 'phone_away', reason: 'off line' }
    await setup.receive('one')
    const start = setup.stores.clock.now()
    await setup.dispatched()
    while (setup.stores.clock.now() - start < DAY_MS / 2) await setup.advance(60_000)
    await setup.receive('two')
    while (setup.stores.clock.pending > 0) await setup.advance(60_000)
    expect(setup.stores.clock.now() - start).to.be.within(1.5 * DAY_MS - 5 * 60_000, 1.5 * DAY_MS)
    expect(setup.android.sent.length).to.be.within(432, 900)
    expect(setup.android.sent.at(-1)?.notification.data.count).to.equal('2')
    expect(setup.lines.filter(({ level }) => level === 'warn' || level === 'error')).to.deep.equal([])
    expect(setup.dispatcher.gateways()[0]).to.include({ state: 'working' })
    expect(setup.metrics.value('pushes_given_up')).to.equal(1)
    expect(setup.isUnpushed()).to.equal(false)
  })

  it('the push latency metric omits pushes that waited for an offline phone', async () => {
    setup.android.always = { kind: 'phone_away', reason: 'off line' }
    await setup.tell('one')
    setup.android.always = ACCEPTED
    await setup.advance(1000)
    await setup.tell('two')
    expect(setup.metrics.value('pushes_accepted')).to.equal(2)
    expect((await setup.metrics.expose()).text).to.include('push_latency_seconds_count{platform="android"} 1\n')
  })

  // Shows: sidecar C9.20.
  it('gives up a push by elapsed time, even if the wall clock is changed', async () => {
    setup.android.always = LATER
    setup.stores.clock.set(1000)
    await setup.tell()
    setup.stores.clock.set(Date.UTC(2026, 0, 1))
    await setup.advance(1_000)
    expect(setup.events('push-given-up')).to.deep.equal([])
    setup.stores.clock.set(1000)
    for (let minutes = 0; minutes < 65; minutes++) await setup.advance(60_000)
    expect(setup.events('push-given-up')).to.have.length(1)
    expect(setup.events('push-gateway-failing').length).to.be.within(10, MAX_TRIES)
  })

  describe('The dispatcher when the database fails', () => {
    const broken = () => Promise.reject(new Error('disk full'))

    it('tries again to read due notifications if that fails, and warns once a minute', async () => {
      let working = false
      await setup.start({
        pushes: (original) => ({ ...original, claim: (room) => (working ? original.claim(room) : broken()) }),
      })
      const tellOf = async (key: string) => {
        await setup.register(key)
        await setup.tell('Hello', key)
      }
      for (const key of ['N1CALL', 'N2CALL']) await tellOf(key)
      expect(setup.events('push-queue-failing')).to.have.length(1)
      await setup.advance(60_000)
      await tellOf('N3CALL')
      expect(setup.events('push-queue-failing')).to.have.length(2)
      expect(setup.android.sent).to.have.length(0)
      working = true
      await tellOf('N4CALL')
      expect(setup.android.sent).to.have.length(4)
    })

    it("retries a push if the sender's avatar cannot be read, and logs why it gives up", async () => {
      await setup.start({ stations: (original) => ({ ...original, avatars: broken }) })
      await setup.register('W1AW', 'token', 'android', { icon: 'car', image: '', hash: 'icon:car' })
      await setup.tell()
      while (setup.stores.clock.pending > 0) await setup.advance(5 * 60_000)
      expect(setup.android.sent).to.have.length(0)
      expect(setup.metrics.value('pushes_retried')).to.be.within(9, MAX_TRIES - 1)
      expect(setup.events('push-given-up')).to.have.length(1)
      expect(setup.events('push-given-up')[0]).to.include({ reason: 'the database failed (disk full)' })
      expect(setup.isUnpushed()).to.equal(false)
    })

    it('retries a push if the database cannot record that its push token is gone', async () => {
      let working = false
      await setup.start({
        stations: (original) => ({
          ...original,
          markTokenDead: (...token) => (working ? original.markTokenDead(...token) : broken()),
        }),
      })
      setup.android.always = { kind: 'token_gone', reason: 'the app was removed' }
      await setup.tell()
      expect(setup.store.stations.get(KEY)?.devices[0]?.tokenDead).to.equal(false)
      working = true
      await setup.advance(1_000)
      expect(setup.android.sent).to.have.length(2)
      expect(setup.store.stations.get(KEY)?.devices[0]?.tokenDead).to.equal(true)
      expect(setup.isUnpushed()).to.equal(false)
    })

    it('sends later notifications even if the database cannot record a sent one', async () => {
      await setup.start({
        pushes: (original) => ({ ...original, settle: (claim) => original.settle(claim).then(broken) }),
      })
      await setup.tell()
      expect(setup.events('push-not-marked')).to.have.length(1)
      await setup.tell('two')
      expect(setup.android.sent).to.have.length(2)
      expect(setup.metrics.value('pushes_accepted')).to.equal(2)
    })
  })
})
