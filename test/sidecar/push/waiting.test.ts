import { expect } from 'chai'
import { trackWaiting } from '../../../sidecar/push/waiting.ts'

describe('how long a phone has been waiting to be told', () => {
  it('counts from the oldest message of what is being sent', () => {
    const waiting = trackWaiting()
    waiting.arrived(20)
    waiting.arrived(10)
    waiting.sending()
    expect(waiting.settled()).to.equal(10)
    expect(waiting.settled()).to.equal(undefined)
  })

  it('goes on from the first try, and leaves what came meanwhile to the next notification', () => {
    const waiting = trackWaiting()
    waiting.arrived(10)
    waiting.sending()
    waiting.arrived(30)
    expect(waiting.settled()).to.equal(10)
    waiting.sending()
    waiting.arrived(50)
    waiting.sending()
    expect(waiting.settled()).to.equal(30)
  })

  it('is unknown where nobody said when', () => {
    const waiting = trackWaiting()
    waiting.sending()
    expect(waiting.settled()).to.equal(undefined)
  })
})
