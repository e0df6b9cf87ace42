import { expect } from 'chai'
import { createMetrics } from '../../../../sidecar/metrics.ts'
import { watchEventLoop } from '../../../../sidecar/operator/watch/event-loop.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

describe('The lag of the event loop', () => {
  const lagOf = async (shown: ReturnType<typeof createMetrics>) =>
    Number(/^mesh_companion_event_loop_lag_seconds (\S+)$/m.exec((await shown.expose()).text)?.[1])

  it('the event loop lag shows that the process was blocked', async () => {
    const shown = createMetrics()
    const { close } = watchEventLoop(shown, new FakeClock())
    const nothing = new Int32Array(new SharedArrayBuffer(4))
    // The probe must have started before the process is blocked, and needs a turn afterwards.
    while ((await lagOf(shown)) < 0.1) {
      Atomics.wait(nothing, 0, 0, 200)
      await new Promise((resolve) => setImmediate(resolve))
    }
    close()
  })

  describe('The measurement of the event loop lag', () => {
    let measuredMs: number
    const delays = {
      enable: () => true,
      disable: () => true,
      reset() {
        measuredMs = 20
      },
      percentile: () => measuredMs * 1e6,
    }
    beforeEach(() => {
      measuredMs = 1020
    })

    // Shows: sidecar O1.11.
    it('the event loop lag excludes the probe interval, however often it is read', async () => {
      const shown = createMetrics()
      const { close } = watchEventLoop(shown, new FakeClock(), delays)
      for (let round = 0; round < 5; round++) expect(await lagOf(shown)).to.equal(1)
      close()
    })

    // Shows: sidecar O1.11.
    it('the event loop lag covers only the last minute', async () => {
      const [shown, clock] = [createMetrics(), new FakeClock()]
      const { close } = watchEventLoop(shown, clock, delays)
      await clock.advance(69_999)
      expect(await lagOf(shown)).to.equal(1)
      await clock.advance(1)
      expect(await lagOf(shown)).to.equal(0)
      close()
      close()
      expect(clock.pending).to.equal(0)
    })
  })
})
