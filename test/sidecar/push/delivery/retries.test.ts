import { expect } from 'chai'
import { GIVE_UP_AFTER_MS, MAX_TRIES } from '../../../../sidecar/push/delivery/retry-plan.ts'
import type { PushOutcome } from '../../../../sidecar/push/gateway/gateway.ts'
import { ACCEPTED, Dispatching, KEY, LATER } from './dispatching.ts'

const DAY_MS = 24 * 60 * 60_000

describe('The dispatcher, where a notification does not come through at once', () => {
  const its = new Dispatching()

  describe('when a gateway fails for now', () => {
    beforeEach(() => {
      its.android.always = LATER
    })

    // Shows: sidecar C5.11, C9.13.
    it('tries again with growing delays, and tells of what came meanwhile too', async () => {
      await its.tell('one')
      await its.advance(999)
      expect([its.android.sent.length, its.dispatcher.inFlight()]).to.deep.equal([1, 0])
      await its.advance(1)
      expect(its.android.sent).to.have.length(2)
      await its.advance(2_999)
      expect(its.android.sent).to.have.length(2)
      await its.receive('two')
      its.android.always = ACCEPTED
      await its.advance(1)
      expect(its.android.sent).to.have.length(3)
      expect(its.android.sent[2]?.notification.data.count).to.equal('2')
      expect(its.metrics.value('pushes_retried')).to.equal(2)
      expect(its.isUnpushed()).to.equal(false)
      expect(its.stores.clock.pending).to.equal(0)
    })

    // Shows: sidecar 2.7, C9.13.
    it('gives up within an hour and a bounded number of tries, with one line', async () => {
      await its.receive()
      const start = its.stores.clock.now()
      await its.dispatched()
      while (its.stores.clock.pending > 0) await its.advance(1_000)
      expect(its.stores.clock.now() - start).to.be.within(GIVE_UP_AFTER_MS / 2, GIVE_UP_AFTER_MS)
      const { length: tries } = its.android.sent
      expect(tries).to.be.within(10, MAX_TRIES)
      expect(its.events('push-given-up')).to.have.length(1)
      expect(its.events('push-given-up')[0]).to.include({ station: KEY, tries, reason: 'down' })
      expect(its.metrics.value('pushes_given_up')).to.equal(1)
      expect(its.metrics.value('pushes_retried')).to.equal(tries - 1)
      expect(its.isUnpushed()).to.equal(false)
    })

    it('warns once a minute, however many stations there are', async () => {
      for (const key of ['N1CALL', 'N2CALL', 'N3CALL']) {
        await its.register(key)
        await its.tell('Hello', key)
      }
      expect(its.events('push-gateway-failing')).to.have.length(1)
      expect(its.events('push-gateway-failing')[0]).to.include({ level: 'warn', platform: 'android', reason: 'down' })
      await its.advance(60_000)
      await its.tell()
      expect(its.events('push-gateway-failing')).to.have.length(2)
    })
  })

  describe('when a gateway refuses the sidecar', () => {
    const reason = 'check the key'
    const REFUSED: PushOutcome = { kind: 'unauthorized', reason }
    beforeEach(() => {
      its.android.always = REFUSED
    })

    // Shows: sidecar C9.18.
    it('retries endlessly, at most every 5 minutes, while a gateway refuses the sidecar', async () => {
      await its.tell('one')
      await its.advance(1_000)
      await its.advance(3_000)
      expect(its.android.sent).to.have.length(3)
      for (let tries = 0; tries < 100; tries++) await its.advance(5 * 60_000)
      expect(its.stores.clock.elapsed()).to.be.above(8 * GIVE_UP_AFTER_MS)
      // The first ones follow one another more quickly.
      expect(its.android.sent.length).to.be.within(102, 110)
      expect(its.isUnpushed()).to.equal(true)
      expect(its.events('push-given-up')).to.deep.equal([])
      its.android.always = ACCEPTED
      await its.receive('two')
      await its.advance(5 * 60_000)
      expect(its.android.sent.at(-1)?.notification.data.count).to.equal('2')
      expect(its.isUnpushed()).to.equal(false)
      expect(its.stores.clock.pending).to.equal(0)
    })

    for (const kind of ['token_gone', 'refused'] as const) {
      it(`keeps the state ${kind} while no gateway is asked`, async () => {
        await its.tell()
        const said = its.dispatcher.gateways()[0]
        expect(said).to.include({ state: 'refusing', credentialsRefused: true })
        its.android.always = { kind, reason: 'it is no token', unasked: true }
        await its.register('N1CALL')
        await its.tell('Hello', 'N1CALL')
        expect(its.android.sent).to.have.length(2)
        expect(its.dispatcher.gateways()[0]).to.deep.equal(said)
        expect(its.events('push-authorized')).to.deep.equal([])
      })
    }

    // Shows: sidecar C9.18.
    it('logs a refusal by the gateway once per reason, and once when it ends', async () => {
      await its.register('N1CALL')
      for (const key of [KEY, 'N1CALL']) {
        await its.tell('Hello', key)
      }
      expect(its.events('push-unauthorized')).to.have.length(1)
      expect(its.events('push-unauthorized')[0]).to.include({ level: 'error', platform: 'android', reason })
      its.android.always = { ...REFUSED, reason: 'check the clock' }
      await its.advance(1_000)
      expect(its.events('push-unauthorized').map(({ reason }) => reason)).to.deep.equal([reason, 'check the clock'])
      its.android.always = LATER
      await its.advance(3_000)
      expect(its.events('push-authorized')).to.deep.equal([])
      its.android.always = ACCEPTED
      await its.advance(60_000)
      expect(its.events('push-authorized')).to.have.length(1)
      expect(its.lines.filter(({ level }) => level === 'error')).to.have.length(2)
    })
  })

  describe('when a gateway calls every token dead', () => {
    const GONE: PushOutcome = { kind: 'token_gone', reason: 'of another project' }
    const keys = Array.from({ length: 25 }, (_, index) => `N${index}CALL`)
    const isDead = (key: string) => its.store.stations.get(key)?.devices[0]?.tokenDead
    const deadTokens = () => keys.filter(isDead).length

    async function tellAll(): Promise<void> {
      for (const key of keys) await its.register(key)
      for (const key of keys) await its.tell('Hello', key)
    }

    it('gives up no token after the twentieth in a row, and lets notifications wait', async () => {
      its.android.always = GONE
      await tellAll()
      expect(deadTokens()).to.equal(20)
      expect(its.dispatcher.gateways()[0]).to.include({ tokensDoubted: true, waiting: 5 })
      expect(its.metrics.value('push_tokens_gone')).to.equal(20)
      expect(its.metrics.value('pushes_refused')).to.equal(0)
      expect(its.events('push-tokens-doubted')).to.have.length(1)
      expect(its.events('push-tokens-doubted')[0]?.msg).to.include('push.fcm.serviceAccountFile')
    })

    it('believes it again once it accepts one, and delivers what waited', async () => {
      its.android.always = GONE
      await tellAll()
      its.android.always = ACCEPTED
      await its.advance(5 * 60_000)
      expect(its.dispatcher.gateways()[0]).to.include({ tokensDoubted: false, waiting: 0 })
      expect(its.events('push-tokens-trusted')).to.have.length(1)
      its.android.always = GONE
      await its.tell('Hello', keys[24])
      expect(deadTokens()).to.equal(21)
    })

    it('believes it as long as another answer comes in between', async () => {
      for (const key of keys) await its.register(key)
      for (const [index, key] of keys.entries()) {
        its.android.always = index === 19 ? { kind: 'refused', reason: 'too big' } : GONE
        await its.tell('Hello', key)
      }
      expect(deadTokens()).to.equal(24)
      expect(its.events('push-tokens-doubted')).to.deep.equal([])
    })
  })

  it('retries a busy push service without a limit and without counting tries', async () => {
    its.android.always = { kind: 'busy', reason: 'busy', afterMs: 500, unasked: true }
    await its.tell()
    await its.advance(500 * 50)
    expect(its.android.sent.length).to.be.within(50, 51)
    expect(its.metrics.value('pushes_retried')).to.equal(0)
    expect(its.dispatcher.gateways()[0]).to.include({ state: 'unused' })
    its.android.always = ACCEPTED
    await its.advance(500)
    expect(its.metrics.value('pushes_accepted')).to.equal(1)
    expect(its.isUnpushed()).to.equal(false)
  })

  it('counts notifications that wait for credentials as repeated, not as failed', async () => {
    its.android.always = { kind: 'unauthorized', reason: 'check the key' }
    await its.tell()
    await its.advance(1_000)
    expect(its.metrics.value('pushes_refused')).to.equal(0)
    expect(its.metrics.value('pushes_retried')).to.equal(2)
  })

  // Shows: sidecar C14.15.
  it('retries for a day after the newest message while a phone is away; no warning', async () => {
    its.android.always = { kind: 'phone_away', reason: 'off line' }
    await its.receive('one')
    const start = its.stores.clock.now()
    await its.dispatched()
    while (its.stores.clock.now() - start < DAY_MS / 2) await its.advance(60_000)
    await its.receive('two')
    while (its.stores.clock.pending > 0) await its.advance(60_000)
    expect(its.stores.clock.now() - start).to.be.within(1.5 * DAY_MS - 5 * 60_000, 1.5 * DAY_MS)
    expect(its.android.sent.length).to.be.within(432, 900)
    expect(its.android.sent.at(-1)?.notification.data.count).to.equal('2')
    expect(its.lines.filter(({ level }) => level === 'warn' || level === 'error')).to.deep.equal([])
    expect(its.dispatcher.gateways()[0]).to.include({ state: 'working' })
    expect(its.metrics.value('pushes_given_up')).to.equal(1)
    expect(its.isUnpushed()).to.equal(false)
  })

  it('counts as no latency of a gateway for how long a phone was away', async () => {
    its.android.always = { kind: 'phone_away', reason: 'off line' }
    await its.tell('one')
    its.android.always = ACCEPTED
    await its.advance(1000)
    await its.tell('two')
    expect(its.metrics.value('pushes_accepted')).to.equal(2)
    expect((await its.metrics.expose()).text).to.include('push_latency_seconds_count{platform="android"} 1\n')
  })

  // Shows: sidecar C9.20.
  it('counts elapsed time until it gives up, whatever the wall clock says', async () => {
    its.android.always = LATER
    its.stores.clock.set(1000)
    await its.tell()
    its.stores.clock.set(Date.UTC(2026, 0, 1))
    await its.advance(1_000)
    expect(its.events('push-given-up')).to.deep.equal([])
    its.stores.clock.set(1000)
    for (let minutes = 0; minutes < 65; minutes++) await its.advance(60_000)
    expect(its.events('push-given-up')).to.have.length(1)
    expect(its.events('push-gateway-failing').length).to.be.within(10, MAX_TRIES)
  })

  describe('when the database fails', () => {
    const broken = () => Promise.reject(new Error('disk full'))

    it('asks again when it cannot read due notifications, and warns once a minute', async () => {
      let working = false
      await its.start({
        pushes: (original) => ({ ...original, claim: (room) => (working ? original.claim(room) : broken()) }),
      })
      const tellOf = async (key: string) => {
        await its.register(key)
        await its.tell('Hello', key)
      }
      for (const key of ['N1CALL', 'N2CALL']) await tellOf(key)
      expect(its.events('push-queue-failing')).to.have.length(1)
      await its.advance(60_000)
      await tellOf('N3CALL')
      expect(its.events('push-queue-failing')).to.have.length(2)
      expect(its.android.sent).to.have.length(0)
      working = true
      await tellOf('N4CALL')
      expect(its.android.sent).to.have.length(4)
    })

    it('retries while the avatar cannot be read, and finally gives up with a reason', async () => {
      await its.start({ stations: (original) => ({ ...original, avatars: broken }) })
      await its.register('W1AW', 'token', 'android', { icon: 'car', image: '', hash: 'icon:car' })
      await its.tell()
      while (its.stores.clock.pending > 0) await its.advance(5 * 60_000)
      expect(its.android.sent).to.have.length(0)
      expect(its.metrics.value('pushes_retried')).to.be.within(9, MAX_TRIES - 1)
      expect(its.events('push-given-up')).to.have.length(1)
      expect(its.events('push-given-up')[0]).to.include({ reason: 'the database failed (disk full)' })
      expect(its.isUnpushed()).to.equal(false)
    })

    it('tries again when it cannot note that a token is gone', async () => {
      let working = false
      await its.start({
        stations: (original) => ({
          ...original,
          markTokenDead: (...token) => (working ? original.markTokenDead(...token) : broken()),
        }),
      })
      its.android.always = { kind: 'token_gone', reason: 'the app was removed' }
      await its.tell()
      expect(its.store.stations.get(KEY)?.devices[0]?.tokenDead).to.equal(false)
      working = true
      await its.advance(1_000)
      expect(its.android.sent).to.have.length(2)
      expect(its.store.stations.get(KEY)?.devices[0]?.tokenDead).to.equal(true)
      expect(its.isUnpushed()).to.equal(false)
    })

    it('goes on when it cannot note that a notification is settled', async () => {
      await its.start({
        pushes: (original) => ({ ...original, settle: (claim) => original.settle(claim).then(broken) }),
      })
      await its.tell()
      expect(its.events('push-not-marked')).to.have.length(1)
      await its.tell('two')
      expect(its.android.sent).to.have.length(2)
      expect(its.metrics.value('pushes_accepted')).to.equal(2)
    })
  })
})
