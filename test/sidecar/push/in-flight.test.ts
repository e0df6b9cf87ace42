import { expect } from 'chai'
import { createInFlight } from '../../../sidecar/push/gateway/in-flight.ts'
import { loadPackage } from '../../../sidecar/push/gateway/package.ts'
import { FakeClock } from '../../support/fake-clock.ts'

describe('a notification in flight', () => {
  const run = (work: () => Promise<never>) => createInFlight(new FakeClock()).run(work, () => {})

  it('that a fault of ours ends is refused, says nothing of the gateway, and does not quote the fault', async () => {
    const faults: readonly (readonly [unknown, string])[] = [
      [new TypeError('of the token'), 'unexpected TypeError'],
      ['the token', 'unexpected string'],
    ]
    for (const [fault, reason] of faults)
      expect(await run(() => Promise.reject(fault))).to.deep.equal({ kind: 'refused', reason, unasked: true })
  })

  it('waits for a restart where the package of its client cannot be loaded', async () => {
    const broken = Object.assign(new Error('Cannot find /a/path'), { code: 'MODULE_NOT_FOUND' })
    const outcome = await run(() => loadPackage('node-apn', () => Promise.reject(broken)))
    expect(outcome).to.have.property('kind', 'unauthorized')
    expect(outcome)
      .to.have.property('reason')
      .that.matches(/^the package node-apn cannot be loaded \(MODULE_NOT_FOUND\): restart/)
      .and.not.includes('/a/path')
    const syntax = await run(() => loadPackage('web-push', () => Promise.reject(new SyntaxError('half'))))
    expect(syntax).to.have.property('reason').that.includes('(SyntaxError)')
  })
})
