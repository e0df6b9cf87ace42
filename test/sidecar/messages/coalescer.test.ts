import { expect } from 'chai'
import fc from 'fast-check'
import { createCoalescer } from '../../../sidecar/messages/coalescer.ts'
import { FakeClock } from '../../support/fake-clock.ts'

/** A coalescer whose pushes end when the test says so, or at once with `instant`. */
function setUp({ instant = true } = {}) {
  const clock = new FakeClock(0)
  const started: { key: string; at: number; arrivedAt: number; end: () => void; fail: () => void }[] = []
  const push = (key: string, arrivedAt: number) =>
    new Promise<void>((resolve, reject) => {
      started.push({ key, at: clock.now(), arrivedAt, end: resolve, fail: () => reject(new Error('gateway')) })
      if (instant) resolve()
    })
  const coalescer = createCoalescer({ coalesceMs: 2000, clock, push })
  return { clock, coalescer, started, pushes: () => started.map(({ key, at }) => [key, at]) }
}

describe('The coalescer', () => {
  it('pushes once when the window of the first message ends, which later ones do not prolong', async () => {
    const { clock, coalescer, pushes } = setUp()
    coalescer.notify('A')
    for (let i = 0; i < 19; i++) {
      await clock.advance(100)
      coalescer.notify('A')
    }
    expect(pushes()).to.deep.equal([])
    await clock.advance(100)
    expect(pushes()).to.deep.equal([['A', 2000]])
    await clock.advance(60_000)
    expect(pushes()).to.have.length(1)
  })

  it('says of each push when the oldest message came in that no push has taken yet', async () => {
    const { clock, coalescer, started } = setUp({ instant: false })
    await clock.advance(500)
    coalescer.notify('A', 400)
    coalescer.notify('A', 450)
    await clock.advance(2500)
    coalescer.notify('A')
    started[0]?.end()
    await clock.advance(5000)
    expect(started.map(({ arrivedAt }) => arrivedAt)).to.deep.equal([400, 3000])
  })

  it('opens a new window for what comes after the push', async () => {
    const { clock, coalescer, pushes } = setUp()
    coalescer.notify('A')
    await clock.advance(2500)
    coalescer.notify('A')
    await clock.advance(5000)
    expect(pushes()).to.deep.equal([
      ['A', 2000],
      ['A', 4500],
    ])
  })

  it('gives each station its own window', async () => {
    const { clock, coalescer, pushes } = setUp()
    coalescer.notify('A')
    await clock.advance(500)
    coalescer.notify('B')
    await clock.advance(5000)
    expect(pushes()).to.deep.equal([
      ['A', 2000],
      ['B', 2500],
    ])
  })

  it('opens a new window for what comes while a push is under way, and never runs two for a station', async () => {
    const { clock, coalescer, started, pushes } = setUp({ instant: false })
    coalescer.notify('A')
    await clock.advance(2000)
    coalescer.notify('A')
    await clock.advance(60_000)
    expect(pushes()).to.deep.equal([['A', 2000]])
    started[0]!.end()
    await clock.advance(0)
    expect(pushes()).to.deep.equal([
      ['A', 2000],
      ['A', 62_000],
    ])
  })

  it('lets the window end when the push before it is over sooner', async () => {
    const { clock, coalescer, started, pushes } = setUp({ instant: false })
    coalescer.notify('A')
    await clock.advance(2500)
    coalescer.notify('A')
    started[0]!.end()
    await clock.advance(5000)
    expect(pushes()).to.deep.equal([
      ['A', 2000],
      ['A', 4500],
    ])
  })

  it('does not stop serving a station whose push failed', async () => {
    const { clock, coalescer, started, pushes } = setUp({ instant: false })
    coalescer.notify('A')
    await clock.advance(2000)
    started[0]!.fail()
    await clock.advance(0)
    coalescer.notify('A')
    await clock.advance(2000)
    expect(pushes()).to.have.length(2)
  })

  it('leaves no timer behind when it is closed, pushes nothing more and takes nothing more', async () => {
    const { clock, coalescer, pushes } = setUp()
    coalescer.notify('A')
    coalescer.notify('B')
    expect(clock.pending).to.equal(2)
    await coalescer.close()
    coalescer.notify('C')
    expect(clock.pending).to.equal(0)
    await clock.advance(10_000)
    expect(pushes()).to.deep.equal([])
  })

  it('waits at close for the push under way and starts no other, however often it is closed', async () => {
    const { clock, coalescer, started } = setUp({ instant: false })
    coalescer.notify('A')
    await clock.advance(2000)
    coalescer.notify('A')
    await clock.advance(2000)
    let closed = 0
    const closing = [coalescer.close(), coalescer.close()].map((close) => close.then(() => closed++))
    await clock.advance(0)
    expect(closed).to.equal(0)
    started[0]!.end()
    await Promise.all(closing)
    await clock.advance(10_000)
    expect(started).to.have.length(1)
    await coalescer.close()
  })

  it('covers each message by a push that starts after it, within the window or as soon as the push before is over', async () => {
    const events = fc.array(fc.tuple(fc.nat(1500), fc.constantFrom('notify', 'end'), fc.constantFrom('A', 'B')), {
      maxLength: 40,
    })
    await fc.assert(
      fc.asyncProperty(events, async (events) => {
        const { clock, coalescer, started } = setUp({ instant: false })
        const uncovered = new Map<string, number>()
        const running = new Map<string, () => void>()
        let seen = 0
        const look = () => {
          for (; seen < started.length; seen++) {
            const { key, at, end } = started[seen]!
            expect(running.has(key), 'two pushes at once').to.equal(false)
            expect(uncovered.has(key), 'a push for nothing').to.equal(true)
            expect(at - uncovered.get(key)!).to.be.at.least(2000)
            uncovered.delete(key)
            running.set(key, end)
          }
        }
        for (const [waitMs, event, key] of events) {
          await clock.advance(waitMs)
          look()
          if (event === 'notify') {
            if (!uncovered.has(key)) uncovered.set(key, clock.now())
            coalescer.notify(key)
          } else {
            running.get(key)?.()
            running.delete(key)
            await clock.advance(0)
            look()
          }
          for (const [late, since] of uncovered) {
            if (!running.has(late)) expect(clock.now() - since).to.be.below(2000 + 1)
          }
        }
        for (const end of running.values()) end()
        running.clear()
        await clock.advance(2000)
        look()
        expect([...uncovered]).to.deep.equal([])
        for (const end of running.values()) end()
        await coalescer.close()
      }),
      { numRuns: 100 },
    )
  })
})
