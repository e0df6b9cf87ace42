import { expect } from 'chai'
import { createTurns } from '../../../../plugin/host/stored/key-queues.ts'

const LONG_MS = 60_000

describe('Turns', () => {
  const rejected = (work: Promise<unknown>) =>
    work.then(
      () => 'resolved',
      (error: Error) => error.message,
    )

  it('come in the order of the calls, one at a time by key, and not behind those of another key', async () => {
    const turns = createTurns()
    const seen: string[] = []
    const { promise: open, resolve: release } = withResolvers()
    const first = turns('a', LONG_MS, async () => {
      seen.push('a1 begins')
      await open
      seen.push('a1 ends')
    })
    const second = turns('a', LONG_MS, async () => void seen.push('a2'))
    await turns('b', LONG_MS, async () => void seen.push('b'))
    release()
    await Promise.all([first, second])
    expect(seen).to.deep.equal(['a1 begins', 'b', 'a1 ends', 'a2'])
  })

  it('go on after one that failed', async () => {
    const turns = createTurns()
    const failed = turns('a', LONG_MS, () => Promise.reject(new Error('no')))
    const next = turns('a', LONG_MS, async () => 'yes')
    expect(await rejected(failed)).to.equal('no')
    expect(await next).to.equal('yes')
  })

  it('are kept by what takes too long until it ends, and what gave up meanwhile is not begun', async () => {
    const turns = createTurns()
    const { promise: open, resolve: release } = withResolvers()
    const seen: string[] = []
    const slow = turns('a', 5, async () => {
      await open
      seen.push('slow')
    })
    const gaveUp = turns('a', 5, async () => void seen.push('gave up'))
    expect(await rejected(slow)).to.match(/in time/)
    expect(await rejected(gaveUp)).to.match(/in time/)
    const patient = turns('a', LONG_MS, async () => void seen.push('patient'))
    expect(seen).to.deep.equal([])
    release()
    await patient
    expect(seen).to.deep.equal(['slow', 'patient'])
  })

  it('are refused when too many wait', async () => {
    const turns = createTurns()
    const { promise: open, resolve: release } = withResolvers()
    const waiting = Array.from({ length: 10_000 }, () => turns('a', LONG_MS, () => open))
    expect(await rejected(turns('b', LONG_MS, async () => undefined))).to.match(/^Too many changes wait/)
    release()
    await Promise.all(waiting)
    await turns('b', LONG_MS, async () => undefined)
  })
})

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
