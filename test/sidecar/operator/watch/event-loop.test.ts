import { expect } from 'chai'
import { createMetrics } from '../../../../sidecar/metrics.ts'
import { watchEventLoop } from '../../../../sidecar/operator/watch/event-loop.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

describe('the lag of the event loop', () => {
  function watch() {
    const clock = new FakeClock()
    const metrics = createMetrics()
    const { close } = watchEventLoop(metrics, clock)
    const lagS = async () =>
      Number(/^mesh_companion_event_loop_lag_seconds (\S+)$/m.exec((await metrics.expose()).text)?.[1])
    return { clock, lagS, close }
  }

  /** Holds everything up, until the probe has seen it. */
  async function hold(lagS: () => Promise<number>): Promise<void> {
    while ((await lagS()) < 0.1) {
      const end = performance.now() + 200
      while (performance.now() < end);
      await new Promise((resolve) => setTimeout(resolve, 30))
    }
  }

  it('is the same for everybody who asks, however often', async () => {
    const { lagS, close } = watch()
    await hold(lagS)
    for (let asked = 0; asked < 5; asked++) expect(await lagS()).to.be.above(0.1)
    close()
  })

  it('is that of the last minute', async () => {
    const { clock, lagS, close } = watch()
    await hold(lagS)
    await clock.advance(59_000)
    expect(await lagS()).to.be.above(0.1)
    // The first spell may have begun before.
    await clock.advance(11_000)
    expect(await lagS()).to.be.below(0.1)
    close()
    close()
    expect(clock.pending).to.equal(0)
  })
})
