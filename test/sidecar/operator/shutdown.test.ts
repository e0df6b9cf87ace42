import { expect } from 'chai'
import { CLOSE_WITHIN, createShutdown, StoppedEarlyError } from '../../../sidecar/operator/shutdown.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { recordedLog } from '../../support/recorded-log.ts'

const NEVER = { close: () => new Promise<void>(() => {}) }

describe('The shutdown of the sidecar', () => {
  const { log, shown } = recordedLog()
  let clock: FakeClock
  let shutdown: ReturnType<typeof createShutdown>
  let steps: string[] = []
  beforeEach(() => {
    clock = new FakeClock()
    shutdown = createShutdown(clock, log)
    steps = []
  })

  const part = (name: string) => ({
    async close() {
      steps.push(`${name} begins`)
      await new Promise((resolve) => setImmediate(resolve))
      steps.push(`${name} ends`)
    },
  })

  it('shutdown closes components in parallel, the store last, and is idempotent', async () => {
    shutdown.add('store', 'store', part('store'))
    shutdown.add('work', 'api', part('api'))
    shutdown.add('work', 'push', part('push'))
    expect(await Promise.all([shutdown.close(), shutdown.close()])).to.deep.equal([true, true])
    expect(await shutdown.close()).to.equal(true)
    const work = ['api begins', 'push begins', 'api ends', 'push ends']
    expect(steps).to.deep.equal([...work, 'store begins', 'store ends'])
  })

  // Shows: sidecar C6.2.
  it('shutdown succeeds even if components other than the store fail or hang', async () => {
    shutdown.add('store', 'store', part('store'))
    shutdown.add('work', 'failing', { close: () => Promise.reject(new Error('no')) })
    shutdown.add('work', 'hanging', NEVER)
    const closing = shutdown.close()
    await clock.advance(CLOSE_WITHIN.work - 1)
    expect(steps).to.deep.equal([])
    await clock.advance(1)
    expect(await closing).to.equal(true)
    expect(shown('part')).to.deep.equal(['failing', 'hanging'])
    expect(steps).to.deep.equal(['store begins', 'store ends'])
  })

  it('shutdown reports a failure if the store takes too long to close', async () => {
    shutdown.add('store', 'store', NEVER)
    const closing = shutdown.close()
    await clock.advance(0)
    await clock.advance(CLOSE_WITHIN.store)
    expect(await closing).to.equal(false)
  })

  it('a component added after the shutdown is closed at once, and its start is aborted', async () => {
    shutdown.add('store', 'store', part('store'))
    await shutdown.close()
    expect(() => shutdown.add('work', 'api', part('api'))).to.throw(StoppedEarlyError)
    expect(await shutdown.close()).to.equal(true)
    expect(steps).to.deep.equal(['store begins', 'store ends', 'api begins', 'api ends'])
  })

  // Shows: sidecar C6.2, C13.14.
  it('the time limits of all stages of a shutdown are below 5 s in total', () => {
    const { work, watch, store } = CLOSE_WITHIN
    expect(work + watch + store).to.be.below(4800)
  })
})
