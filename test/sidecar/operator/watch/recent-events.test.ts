import { expect } from 'chai'
import { createLog } from '../../../../sidecar/log.ts'
import { MAX_DETAIL_CHARACTERS, MAX_EVENTS, rememberEvents } from '../../../../sidecar/operator/watch/recent-events.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { recordedLog } from '../../../support/recorded-log.ts'

describe('The recent warnings and errors', () => {
  const { log: output, lines } = recordedLog('error')
  let clock: FakeClock
  beforeEach(() => {
    clock = new FakeClock()
  })

  it('recent events are warnings and errors, newest first, even below the log level', async () => {
    const { log, list } = rememberEvents(output, clock)
    log.debug('one', 'Nobody asked.')
    log.info('two', 'All is well.')
    log.warn('three', 'Odd.', { call: 'N0CALL' })
    await clock.advance(1000)
    log.error('four', 'Something broke.')
    expect(list()).to.deep.equal([
      { at: clock.now(), level: 'error', event: 'four', msg: 'Something broke.', detail: '', times: 1 },
      { at: clock.now() - 1000, level: 'warn', event: 'three', msg: 'Odd.', detail: 'call: N0CALL', times: 1 },
    ])
    expect(lines.map(({ event }) => event)).to.deep.equal(['four'])
  })

  it('recording recent events leaves the log lines unchanged', () => {
    const { log } = rememberEvents(output, clock)
    log.error('broken', 'It broke.', { error: new Error('so'), reason: 'x' })
    expect(lines[0]).to.include({ level: 'error', event: 'broken', msg: 'It broke.', reason: 'x' })
    expect(lines[0]?.error).to.deep.equal({ name: 'Error', message: 'so' })
  })

  it('at most MAX_EVENTS recent events are kept, with long texts shortened', () => {
    const { log, list } = rememberEvents(output, clock)
    for (let i = 0; i < MAX_EVENTS * 2; i++) log.warn(`event-${i}`, 'x'.repeat(10_000), { text: 'y'.repeat(10_000) })
    const events = list()
    expect(events.length).to.equal(MAX_EVENTS)
    expect(events[0]?.event).to.equal(`event-${MAX_EVENTS * 2 - 1}`)
    expect(events[0]?.msg.length).to.be.at.most(300)
    expect(events[0]?.detail.length).to.equal(MAX_DETAIL_CHARACTERS + 1)
  })

  it('a repeated event is counted, and does not displace other recent events', async () => {
    const { log, list } = rememberEvents(output, clock)
    log.warn('upstream-down', 'The connection failed.', { call: 'N0CALL' })
    for (let i = 0; i < 100; i++) {
      await clock.advance(1)
      log.error('unhealthy', 'The database does not answer.', { reason: 'slow' })
    }
    log.error('unhealthy', 'The database does not answer.', { reason: 'gone' })
    expect(list().map(({ event, times }) => [event, times])).to.deep.equal([
      ['unhealthy', 1],
      ['unhealthy', 100],
      ['upstream-down', 1],
    ])
    expect(list()[1]?.at).to.equal(clock.now())
  })

  it('recent events contain no control characters from outside and no stack traces', () => {
    const { log, list } = rememberEvents(output, clock)
    log.warn('odd', 'Odd.', { text: 'a\u001b[31m\nb', error: new Error('boom') })
    expect(list()[0]?.detail).to.equal('text: a [31m b · error: boom')
  })

  it('recent events show lists, error codes and causes, and omit absent fields', () => {
    const { log, list } = rememberEvents(createLog('silent'), clock)
    const cause = Object.assign(new Error('no space'), { code: 'ENOSPC' })
    const error = new Error('The database takes nothing.', { cause })
    log.error('odd', 'Odd.', { stations: ['A', 'B'], at: { slot: 1 }, reason: undefined, none: null, error })
    expect(list()[0]?.detail).to.equal(
      'stations: A, B · at: (slot: 1) · error: The database takes nothing., caused by: no space (ENOSPC)',
    )
  })

  it('logging never fails, even if a field refers to itself', () => {
    const { log, list } = rememberEvents(createLog('silent'), clock)
    const circle: Record<string, unknown> = {}
    circle.self = circle
    log.warn('odd', 'Odd.', { circle, size: 1n })
    expect(list()[0]?.detail).to.equal('circle: (self: (self: (self: …))) · size: 1')
  })
})
