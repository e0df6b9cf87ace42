import { once } from 'node:events'
import { expect } from 'chai'
import { CALL, LinkHarness, stationKeys } from './link-harness.ts'

describe('A filter change', () => {
  let its: LinkHarness

  beforeEach(async () => {
    its = new LinkHarness()
    await its.startServer()
  })
  afterEach(() => its.close())

  const calls = () => its.server.clients().map(({ call }) => call)

  // Shows: sidecar C1.11, C7.7.
  it('waits from the first change on and sends one filter for all till then', async () => {
    await its.start([])
    const sent = its.metrics.value('filters_sent')
    for (const [index, key] of ['AA1AA-1', 'BB1BB-1', 'CC1CC-1', 'DD1DD-1'].entries()) {
      its.stations.add(key)
      its.link.refilter()
      await its.clock.advance(index < 3 ? 600 : 199)
    }
    expect(its.metrics.value('filters_sent')).to.equal(sent)
    await its.clock.advance(1)
    await its.until(() => its.filters()[0] === 'g/AA1AA-1/BB1BB-1/CC1CC-1/DD1DD-1' && its.link.ready())
    expect(its.metrics.value('filters_sent')).to.equal(sent + 1)
  })

  // Shows: sidecar 2.14, 11.18, 15.3, C7.7.
  it('sends nothing when the set of stations is the same', async () => {
    await its.start(['AA1AA-1', 'BB1BB-1'])
    const { bytesIn } = its.server.traffic
    await its.change(['BB1BB-1', 'AA1AA-1'])
    await its.reaches(['AA1AA-1'])
    expect(its.server.traffic.bytesIn).to.equal(bytesIn)
    expect(its.events('upstream-filter')).to.have.length(1)
  })

  // Shows: sidecar F1.1.
  it('changes a filter of 510 bytes in place, but logs in anew for 511', async () => {
    // With 55 stations of eight characters the line has 504 bytes.
    for (const [last, bytes, logins] of [
      ['A1A-1', 510, 1],
      ['AA1A-1', 511, 2],
    ] as const) {
      await its.start(stationKeys(55))
      const before = its.server.traffic.logins
      const whole = [...stationKeys(55), last]
      expect('#filter g'.length + whole.join('').length + whole.length).to.equal(bytes)
      await its.change(whole)
      await its.ready()
      expect(its.server.traffic.logins - before).to.equal(logins - 1)
      await its.reaches(whole)
      await its.link.close()
    }
  })

  // Shows: sidecar C7.8, C7.9.
  it('is not ready until a filter is confirmed; resends and counts it after 10 s', async () => {
    await its.start(['AA1AA-1'])
    its.server.filterHabit = 'fixed_at_login'
    const asked = once(its.server.events, 'filter')
    await its.change(['BB1BB-1'])
    await asked
    expect(its.link.ready()).to.equal(false)
    its.server.filterHabit = 'aprsc'
    await its.clock.advance(10_000)
    await its.ready()
    expect(its.metrics.value('filters_repaired')).to.equal(1)
    expect(its.server.traffic.logins).to.equal(1)
  })

  for (const habit of ['other_words', 'reordered'] as const) {
    it(`takes an answer in other words (${habit}) for a confirmation`, async () => {
      await its.start(['AA1AA-1'], { trackOutgoing: true })
      its.server.filterHabit = habit
      await its.change(['BB1BB-1'])
      await its.ready()
      await its.reaches(['BB1BB-1'])
      expect(its.metrics.value('filters_repaired')).to.equal(0)
      expect(its.server.traffic.logins).to.equal(1)
    })
  }

  it('is not ready while a server says that it refused the filter', async () => {
    await its.start(['AA1AA-1'])
    its.server.filterHabit = 'fixed_at_login'
    const asked = once(its.server.events, 'filter')
    await its.change(['NO-1'])
    await asked
    its.server.say('# filter not accepted')
    await its.reaches(['AA1AA-1'])
    expect(its.link.ready()).to.equal(false)
  })

  for (const habit of ['silent', 'fixed_at_login'] as const) {
    describe(`at a server that answers no #filter (${habit})`, () => {
      // Shows: sidecar C7.9.
      it('is ready after two unanswered lines, and logs in again without a gap', async () => {
        await its.start(['AA1AA-1'])
        its.server.filterHabit = habit
        await its.change(['AA1AA-1', 'BB1BB-1'])
        await its.clock.advance(20_000)
        await its.ready()
        expect(its.metrics.value('filters_repaired')).to.equal(2)
        await its.until(() => calls().length === 2)
        expect(calls()).to.deep.equal([CALL, 'N0CALL-99'])
        await its.clock.advance(5000)
        await its.until(() => calls().length === 1)
        expect(its.filters()).to.deep.equal(['g/AA1AA-1/BB1BB-1'])
        await its.reaches(['AA1AA-1', 'BB1BB-1'])
      })

      it('counts filters as set when written, warns once, logs in at most once a minute', async () => {
        await its.start(['AA1AA-1'])
        its.server.filterHabit = habit
        await its.change(['BB1BB-1'])
        await its.clock.advance(20_000)
        await its.until(() => its.server.traffic.logins === 2)
        await its.clock.advance(5000)
        await its.until(() => calls().length === 1)
        const sent = its.metrics.value('filters_sent')
        for (const station of ['CC1CC-1', 'DD1DD-1', 'EE1EE-1']) {
          await its.change([station])
          await its.until(() => its.link.ready())
        }
        expect(its.metrics.value('filters_sent')).to.equal(sent + 3)
        expect(its.server.traffic.logins).to.equal(2)
        await its.clock.advance(60_000)
        await its.until(() => its.server.traffic.logins === 3)
        await its.clock.advance(5000)
        await its.until(() => calls().length === 1)
        await its.reaches(['EE1EE-1'])
        await its.clock.advance(300_000)
        expect(its.server.traffic.logins).to.equal(3)
        expect(its.events('upstream-filter-unconfirmed')).to.have.length(1)
      })
    })
  }

  it('trusts the answers of a server again that answered late', async () => {
    await its.start(['AA1AA-1'])
    its.server.filterHabit = 'fixed_at_login'
    await its.change(['BB1BB-1'])
    await its.clock.advance(20_000)
    await its.until(() => its.server.traffic.logins === 2)
    its.server.filterHabit = 'aprsc'
    await its.change(['CC1CC-1'])
    await its.clock.advance(70_000)
    await its.until(() => calls().length === 1)
    const { logins } = its.server.traffic
    await its.change(['DD1DD-1'])
    await its.ready()
    await its.clock.advance(120_000)
    expect(its.server.traffic.logins).to.equal(logins)
    await its.reaches(['DD1DD-1'])
  })

  it('asks for the newest filter when it changed during the login', async () => {
    its.stations = new Set(['AA1AA-1'])
    its.network.hold()
    its.connect({ filterDebounceMs: 0 })
    await its.clock.advance(0)
    // The connection is there, and the login line is on its way.
    its.network.step()
    its.stations = new Set(['BB1BB-1'])
    its.link.refilter()
    await its.clock.advance(0)
    its.network.release()
    await its.ready()
    expect(its.filters()).to.deep.equal(['g/BB1BB-1'])
    expect(its.metrics.value('filters_sent')).to.equal(2)
  })
})
