import { expect } from 'chai'
import fc from 'fast-check'
import { createAckThrottle } from '../../../../sidecar/messages/acks/ack-throttle.ts'

const LIMITS = { minIntervalMs: 31_000, maxPerSenderPerMinute: 10 }
const message = (seqId: string, from = 'A', to = 'B') => ({ from, to, seqId })

describe('The ack throttle', () => {
  // Shows: sidecar C1.17.
  it('limits how many acks a minute a station sends to one sender', () => {
    const throttle = createAckThrottle(LIMITS)
    for (let i = 0; i < 10; i++) throttle.sent(message(`${i}`), i * 1000)
    expect(throttle.allows(message('x'), 10_000)).to.equal(false)
    expect(throttle.allows(message('x', 'C'), 10_000)).to.equal(true)
    expect(throttle.allows(message('x', 'A', 'C'), 10_000)).to.equal(true)
    expect(throttle.allows(message('x'), 59_999)).to.equal(false)
    // The first of the ten acks is a minute old now, the second is not.
    expect(throttle.allows(message('x'), 60_000)).to.equal(true)
    throttle.sent(message('x'), 60_000)
    expect(throttle.allows(message('y'), 60_500)).to.equal(false)
  })

  // Shows: sidecar C1.17, C4.28.
  it('the ack limit of a sender over all stations is ten times the limit per station', () => {
    const throttle = createAckThrottle(LIMITS)
    for (let i = 0; i < 100; i++) {
      expect(throttle.allows(message('x', 'A', `B${i}`), i * 100)).to.equal(true)
      throttle.sent(message('x', 'A', `B${i}`), i * 100)
    }
    expect(throttle.allows(message('x', 'A', 'C'), 10_000)).to.equal(false)
    expect(throttle.allows(message('x', 'D', 'C'), 10_000)).to.equal(true)
    expect(throttle.allows(message('x', 'A', 'C'), 60_000)).to.equal(true)
  })

  it("sends an ack for each spelling of a sender's callsign, but within one ack limit", () => {
    const throttle = createAckThrottle(LIMITS)
    for (const from of ['W2AW', 'W2AW-0', 'w2aw']) {
      expect(throttle.allows(message('1', from), 0)).to.equal(true)
      throttle.sent(message('1', from), 0)
    }
    for (let i = 0; i < 7; i++) throttle.sent(message(`x${i}`, 'W2AW'), 0)
    expect(throttle.allows(message('2', 'W2AW-0'), 0)).to.equal(false)
  })

  it('allows acks again at once after the clock was set back', () => {
    const throttle = createAckThrottle(LIMITS)
    for (let i = 0; i < 10; i++) throttle.sent(message(`${i}`), 3_600_000)
    expect(throttle.allows(message('0'), 0)).to.equal(true)
  })

  it('forgets the oldest acks beyond 10,000, so that a flood does not fill memory', () => {
    const throttle = createAckThrottle(LIMITS)
    for (let i = 0; i <= 10_000; i++) throttle.sent(message('1', `S${i}`), i / 1000)
    expect(throttle.allows(message('1', 'S0'), 11)).to.equal(true)
    expect(throttle.allows(message('1', 'S1'), 11)).to.equal(false)
    expect(throttle.allows(message('1', 'S10000'), 11)).to.equal(false)
  })

  // Shows: sidecar 16.3.
  it('never allows more acks than the limits permit, for any sequence of messages', () => {
    const steps = fc.array(
      fc.record({
        waitMs: fc.nat(5000),
        from: fc.constantFrom('A', 'A', 'A', 'B'),
        to: fc.nat(20).map((number) => `S${number}`),
        seqId: fc.constantFrom('1', '2', '3'),
      }),
      { maxLength: 300, size: 'max' },
    )
    fc.assert(
      fc.property(steps, (steps) => {
        const throttle = createAckThrottle({ minIntervalMs: 31_000, maxPerSenderPerMinute: 1 })
        const sent: { at: number; from: string; to: string; seqId: string }[] = []
        let now = 0
        for (const { waitMs, from, to, seqId } of steps) {
          now += waitMs
          if (!throttle.allows(message(seqId, from, to), now)) continue
          throttle.sent(message(seqId, from, to), now)
          sent.push({ at: now, from, to, seqId })
        }
        for (const ack of sent) {
          const earlier = sent.filter(
            (earlierAck) => earlierAck !== ack && earlierAck.from === ack.from && earlierAck.at <= ack.at,
          )
          const inMinute = earlier.filter((earlierAck) => ack.at - earlierAck.at < 60_000)
          expect(inMinute.length).to.be.below(10)
          expect(inMinute.filter((second) => second.to === ack.to).length).to.be.below(1)
          const same = earlier.filter((earlierAck) => earlierAck.to === ack.to && earlierAck.seqId === ack.seqId)
          expect(same.every((second) => ack.at - second.at >= 31_000)).to.equal(true)
        }
      }),
    )
  })
})
