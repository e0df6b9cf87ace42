import { expect } from 'chai'
import { createShutdown } from '../../../sidecar/operator/shutdown.ts'
import { FakeClock } from '../../support/fake-clock.ts'
import { recordedLog } from '../../support/recorded-log.ts'

describe('shutting down', () => {
  const { log, shown } = recordedLog()
  let clock: FakeClock
  let shutdown: ReturnType<typeof createShutdown>
  beforeEach(() => {
    clock = new FakeClock()
    shutdown = createShutdown(clock, log)
  })

  it('closes in reverse order, one after the other, and once', async () => {
    const steps: string[] = []
    for (const name of ['a', 'b'])
      shutdown.add(name, 100, {
        async close() {
          steps.push(`${name} begins`)
          await new Promise((resolve) => setImmediate(resolve))
          steps.push(`${name} ends`)
        },
      })
    expect(await Promise.all([shutdown.close(), shutdown.close()])).to.deep.equal([true, true])
    expect(await shutdown.close()).to.equal(true)
    expect(steps).to.deep.equal(['b begins', 'b ends', 'a begins', 'a ends'])
  })

  it('goes on when a part fails, or takes longer than it may, and says that it was left behind', async () => {
    let closed = false
    shutdown.add('first', 100, {
      async close() {
        closed = true
      },
    })
    shutdown.add('failing', 100, { close: () => Promise.reject(new Error('no')) })
    shutdown.add('hanging', 100, { close: () => new Promise(() => {}) })
    const closing = shutdown.close()
    await clock.advance(99)
    expect([closed, shown('part')]).to.deep.equal([false, []])
    await clock.advance(1)
    expect(await closing).to.equal(false)
    expect([closed, shown('part')]).to.deep.equal([true, ['hanging', 'failing']])
  })
})
