import { expect } from 'chai'
import { createTurnBatch } from '../../../sidecar/api/turn-batch.ts'

describe('The queue that runs at the end of an event loop turn', () => {
  it('a queue that runs last handles items that another queue adds in the same turn', async () => {
    const done: string[] = []
    const leaving = createTurnBatch<string>((item) => done.push(`${item} leaves`))
    const arrived = createTurnBatch<string>((item) => {
      done.push(`${item} is taken in`)
      queueMicrotask(() => leaving.add(item))
    }, leaving.runLast)
    leaving.add('an earlier one')
    arrived.add('one')
    arrived.add('two')
    const next = new Promise((resolve) => setImmediate(resolve))
    expect(done).to.deep.equal([])
    await next
    expect(done).to.deep.equal([
      'an earlier one leaves',
      'one is taken in',
      'two is taken in',
      'one leaves',
      'two leaves',
    ])
  })
})
