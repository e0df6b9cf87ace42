import { expect } from 'chai'
import fc from 'fast-check'
import { createAckThrottle } from '../../../sidecar/messages/ack-throttle.ts'

const LIMITS = { minIntervalMs: 31_000, maxPerSenderPerMinute: 10 }
const message = (seqId: string, from = 'A', to = 'B') => ({ from, to, seqId })

describe('The ack throttle', () => {
  it('allows an identical ack again when the interval has passed, and not a millisecond before', () => {
    const throttle = createAckThrottle(LIMITS)
    expect(throttle.allows(message('1'), 0)).to.equal(true)
    throttle.sent(message('1'), 0)
    expect(throttle.allows(message('1'), 30_999)).to.equal(false)
    expect(throttle.allows(message('1'), 31_000)).to.equal(true)
  })

  it('tells acks apart by sender, addressee and number', () => {
    const throttle = createAckThrottle(LIMITS)
    throttle.sent(message('1'), 0)
    expect(throttle.allows(message('2'), 1)).to.equal(true)
    expect(throttle.allows(message('1', 'C'), 1)).to.equal(true)
    expect(throttle.allows(message('1', 'A', 'C'), 1)).to.equal(true)
  })

  it('counts only what was sent', () => {
    const throttle = createAckThrottle(LIMITS)
    for (let i = 0; i < 100; i++) expect(throttle.allows(message('1'), i)).to.equal(true)
  })

  it('holds a sender to its acks per minute, whoever they are from', () => {
    const throttle = createAckThrottle(LIMITS)
    for (let i = 0; i < 10; i++) throttle.sent(message(`${i}`, 'A', `B${i}`), i * 1000)
    expect(throttle.allows(message('x'), 10_000)).to.equal(false)
    expect(throttle.allows(message('x', 'C'), 10_000)).to.equal(true)
    expect(throttle.allows(message('x'), 59_999)).to.equal(false)
    // The first of the ten is a minute old now, the second is not.
    expect(throttle.allows(message('x'), 60_000)).to.equal(true)
    throttle.sent(message('x'), 60_000)
    expect(throttle.allows(message('y'), 60_500)).to.equal(false)
  })

  it('does not hold anything back for long after the clock stepped backwards', () => {
    const throttle = createAckThrottle(LIMITS)
    for (let i = 0; i < 10; i++) throttle.sent(message(`${i}`), 3_600_000)
    expect(throttle.allows(message('0'), 0)).to.equal(true)
  })

  it('forgets the oldest acks beyond 10,000, so that a flood does not grow the memory', () => {
    const throttle = createAckThrottle(LIMITS)
    for (let i = 0; i <= 10_000; i++) throttle.sent(message('1', `S${i}`), i / 1000)
    expect(throttle.allows(message('1', 'S0'), 11)).to.equal(true)
    expect(throttle.allows(message('1', 'S1'), 11)).to.equal(false)
    expect(throttle.allows(message('1', 'S10000'), 11)).to.equal(false)
  })

  it('never lets more through than its limits, whatever comes when', () => {
    const steps = fc.array(
      fc.record({ waitMs: fc.nat(20_000), from: fc.constantFrom('A', 'B'), seqId: fc.constantFrom('1', '2', '3') }),
      { maxLength: 200 },
    )
    fc.assert(
      fc.property(steps, (steps) => {
        const throttle = createAckThrottle({ minIntervalMs: 31_000, maxPerSenderPerMinute: 4 })
        const sent: { at: number; from: string; seqId: string }[] = []
        let now = 0
        for (const { waitMs, from, seqId } of steps) {
          now += waitMs
          if (!throttle.allows(message(seqId, from), now)) continue
          throttle.sent(message(seqId, from), now)
          sent.push({ at: now, from, seqId })
        }
        for (const ack of sent) {
          const before = sent.filter((other) => other !== ack && other.from === ack.from && other.at <= ack.at)
          expect(before.filter((other) => ack.at - other.at < 60_000).length).to.be.below(4)
          const same = before.filter((other) => other.seqId === ack.seqId)
          expect(same.every((other) => ack.at - other.at >= 31_000)).to.equal(true)
        }
      }),
    )
  })
})
