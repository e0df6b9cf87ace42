import { expect } from 'chai'
import { inTurn } from '../../../../../sidecar/store/postgres/stations/in-turn.ts'
import { FakeClock } from '../../../../support/fake-clock.ts'
import { rejection } from '../../sqlite/temporary-stores.ts'

describe('What is done in turn', () => {
  it('begins in the order of the calls, each when the one before is over, failed or not', async () => {
    const run = inTurn(new FakeClock())
    const done: string[] = []
    const first = run(async () => {
      await new Promise((resolve) => setImmediate(resolve))
      done.push('first')
      throw new Error('it failed')
    })
    const second = run(async () => done.push('second'))
    await rejection(first)
    await second
    expect(done).to.deep.equal(['first', 'second'])
  })

  it('is refused where a thousand wait, and at its turn where it waited for more than ten seconds', async () => {
    const clock = new FakeClock()
    const run = inTurn(clock)
    let finish: (() => void) | undefined
    const finished = new Promise<void>((resolve) => {
      finish = resolve
    })
    const first = run(() => finished)
    await Promise.resolve()
    const ran: string[] = []
    const waiting = Array.from({ length: 1000 }, () => rejection(run(async () => ran.push('one'))))
    expect((await rejection(run(async () => undefined))).code).to.equal('store_overloaded')
    await clock.advance(10_001)
    finish?.()
    await first
    for (const refused of waiting) expect((await refused).code).to.equal('store_overloaded')
    expect(ran).to.deep.equal([])
    expect(await run(async () => 'at work again')).to.equal('at work again')
  })
})
