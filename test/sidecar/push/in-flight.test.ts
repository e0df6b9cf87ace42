import { expect } from 'chai'
import { createInFlight } from '../../../sidecar/push/gateway/in-flight.ts'
import { FakeClock } from '../../support/fake-clock.ts'

describe('A notification in flight', () => {
  const run = (work: () => Promise<never>) => createInFlight(new FakeClock()).run(work, () => {})

  it("the outcome of an internal push error names the error's class, not its message", async () => {
    const faults: readonly (readonly [unknown, string])[] = [
      [new TypeError('of the token'), 'unexpected TypeError'],
      ['the token', 'unexpected string'],
    ]
    for (const [fault, reason] of faults)
      expect(await run(() => Promise.reject(fault))).to.deep.equal({ kind: 'refused', reason, unasked: true })
  })
})
