import { expect } from 'chai'
import { createAckSender } from '../../../sidecar/messages/ack-sender.ts'
import { createMetrics } from '../../../sidecar/metrics.ts'
import { FakeClock } from '../../support/fake-clock.ts'

function setUp() {
  const clock = new FakeClock()
  const metrics = createMetrics()
  const link = { verified: true, lines: [] as string[] }
  const send = (line: string) => {
    if (link.verified) link.lines.push(line)
    return link.verified
  }
  const settings = { minIntervalMs: 31_000, maxPerSenderPerMinute: 3 }
  return { clock, metrics, link, acks: createAckSender({ send, settings, clock, metrics }) }
}

const numbered = (seqId: string) => ({ from: 'A', to: 'B', seqId })

describe('The ack sender', () => {
  it('sends the ack of a numbered message', () => {
    const { acks, link, metrics } = setUp()
    acks.acknowledge(numbered('12'))
    expect(link.lines).to.deep.equal(['B>APRS,TCPIP*::A        :ack12'])
    expect(metrics.value('acks_sent')).to.equal(1)
  })

  it('sends nothing for a message without number', () => {
    const { acks, link, metrics } = setUp()
    acks.acknowledge(numbered(''))
    expect(link.lines).to.deep.equal([])
    expect(metrics.value('acks_throttled') + metrics.value('acks_unsendable')).to.equal(0)
  })

  it('sends the same ack again only after the interval', async () => {
    const { acks, clock, link, metrics } = setUp()
    acks.acknowledge(numbered('12'))
    await clock.advance(30_999)
    acks.acknowledge(numbered('12'))
    expect(link.lines).to.have.length(1)
    expect(metrics.value('acks_throttled')).to.equal(1)
    await clock.advance(1)
    acks.acknowledge(numbered('12'))
    expect(link.lines).to.have.length(2)
  })

  it('counts elapsed time, however the clock is set', async () => {
    const { acks, clock, link } = setUp()
    clock.set(1000)
    acks.acknowledge(numbered('12'))
    clock.set(Date.UTC(2026, 0, 1))
    await clock.advance(30_999)
    acks.acknowledge(numbered('12'))
    clock.set(1000)
    acks.acknowledge(numbered('12'))
    expect(link.lines).to.have.length(1)
    await clock.advance(1)
    acks.acknowledge(numbered('12'))
    expect(link.lines).to.have.length(2)
  })

  it('holds a sender to its acks per minute', () => {
    const { acks, link, metrics } = setUp()
    for (let i = 0; i < 5; i++) acks.acknowledge(numbered(`${i}`))
    expect(link.lines).to.have.length(3)
    expect(metrics.value('acks_throttled')).to.equal(2)
  })

  it('does not count an ack against the throttle that could not be sent', () => {
    const { acks, link, metrics } = setUp()
    link.verified = false
    for (let i = 0; i < 5; i++) acks.acknowledge(numbered('12'))
    expect(metrics.value('acks_unsendable')).to.equal(5)
    link.verified = true
    acks.acknowledge(numbered('12'))
    expect(link.lines).to.have.length(1)
    expect(metrics.value('acks_sent')).to.equal(1)
  })
})
