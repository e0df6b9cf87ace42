import { expect } from 'chai'
import { createAckSender } from '../../../sidecar/messages/ack-sender.ts'
import { createMetrics } from '../../../sidecar/metrics.ts'

function setUp() {
  const metrics = createMetrics()
  const link = { verified: true, lines: [] as string[] }
  const send = (line: string) => {
    if (link.verified) link.lines.push(line)
    return link.verified
  }
  return { metrics, link, acks: createAckSender({ send, canSend: () => link.verified, metrics }) }
}

const MESSAGE = { from: 'A', to: 'B', seqId: '12' }

describe('The ack sender', () => {
  it('counts an ack that finds no verified login any more as one that could not be sent', () => {
    const { acks, link, metrics } = setUp()
    expect(acks.ready()).to.equal(true)
    link.verified = false
    expect(acks.ready()).to.equal(false)
    acks.acknowledge(MESSAGE)
    expect([metrics.value('acks_sent'), metrics.value('acks_unsendable')]).to.deep.equal([0, 1])
  })

  it('counts what is withheld by whether it could have been sent', () => {
    const { acks, metrics } = setUp()
    acks.withhold(true)
    expect([metrics.value('acks_throttled'), metrics.value('acks_unsendable')]).to.deep.equal([1, 0])
    acks.withhold(false)
    expect([metrics.value('acks_throttled'), metrics.value('acks_unsendable')]).to.deep.equal([1, 1])
  })
})
