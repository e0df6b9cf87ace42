import { once } from 'node:events'
import { expect } from 'chai'
import { CALL, LinkHarness, stationKeys } from './link-harness.ts'

describe('Filter changes at APRS-IS', () => {
  let setup: LinkHarness

  beforeEach(async () => {
    setup = new LinkHarness()
    await setup.startServer()
  })
  afterEach(() => setup.close())

  const calls = () => setup.server.clients().map(({ call }) => call)

  // Shows: sidecar C1.11, C7.7.
  it('sends one filter for all changes within the debounce time of the first change', async () => {
    await setup.start([])
    const sent = setup.metrics.value('filters_sent')
    for (const [index, key] of ['AA1AA-1', 'BB1BB-1', 'CC1CC-1', 'DD1DD-1'].entries()) {
      setup.stations.add(key)
      setup.link.refilter()
      await setup.clock.advance(index < 3 ? 600 : 199)
    }
    expect(setup.metrics.value('filters_sent')).to.equal(sent)
    await setup.clock.advance(1)
    await setup.until(() => setup.filters()[0] === 'g/AA1AA-1/BB1BB-1/CC1CC-1/DD1DD-1' && setup.link.ready())
    expect(setup.metrics.value('filters_sent')).to.equal(sent + 1)
  })

  // Shows: sidecar 2.14, 11.18, 15.3, C7.7.
  it('sends no filter if the set of stations has not changed', async () => {
    await setup.start(['AA1AA-1', 'BB1BB-1'])
    const { bytesIn } = setup.server.traffic
    await setup.change(['BB1BB-1', 'AA1AA-1'])
    await setup.reaches(['AA1AA-1'])
    expect(setup.server.traffic.bytesIn).to.equal(bytesIn)
    expect(setup.events('upstream-filter')).to.have.length(1)
  })

  // Shows: sidecar F1.1.
  it('changes a filter by a #filter line of 510 bytes, but by a new login for 511', async () => {
    // With 55 stations of eight characters the line has 504 bytes.
    for (const [last, bytes, logins] of [
      ['A1A-1', 510, 1],
      ['AA1A-1', 511, 2],
    ] as const) {
      await setup.start(stationKeys(55))
      const earlier = setup.server.traffic.logins
      const whole = [...stationKeys(55), last]
      expect('#filter g'.length + whole.join('').length + whole.length).to.equal(bytes)
      await setup.change(whole)
      await setup.ready()
      expect(setup.server.traffic.logins - earlier).to.equal(logins - 1)
      await setup.reaches(whole)
      await setup.link.close()
    }
  })

  // Shows: sidecar C7.8, C7.9.
  it('resends an unconfirmed filter after 10 s, and is ready only after confirmation', async () => {
    await setup.start(['AA1AA-1'])
    setup.server.filterHabit = 'fixed_at_login'
    const filterChange = once(setup.server.events, 'filter')
    await setup.change(['BB1BB-1'])
    await filterChange
    expect(setup.link.ready()).to.equal(false)
    setup.server.filterHabit = 'aprsc'
    await setup.clock.advance(10_000)
    await setup.ready()
    expect(setup.metrics.value('filters_repaired')).to.equal(1)
    expect(setup.server.traffic.logins).to.equal(1)
  })

  for (const habit of ['other_words', 'reordered'] as const) {
    it(`accepts a filter confirmation in an unusual form (${habit})`, async () => {
      await setup.start(['AA1AA-1'], { trackOutgoing: true })
      setup.server.filterHabit = habit
      await setup.change(['BB1BB-1'])
      await setup.ready()
      await setup.reaches(['BB1BB-1'])
      expect(setup.metrics.value('filters_repaired')).to.equal(0)
      expect(setup.server.traffic.logins).to.equal(1)
    })
  }

  it('the link is not ready while the server refuses the filter', async () => {
    await setup.start(['AA1AA-1'])
    setup.server.filterHabit = 'fixed_at_login'
    const filterChange = once(setup.server.events, 'filter')
    await setup.change(['NO-1'])
    await filterChange
    setup.server.say('# filter not accepted')
    await setup.reaches(['AA1AA-1'])
    expect(setup.link.ready()).to.equal(false)
  })

  for (const habit of ['silent', 'fixed_at_login'] as const) {
    describe(`A server that answers no #filter line (${habit})`, () => {
      // Shows: sidecar C7.9.
      it('after two unanswered #filter lines, replaces the connection and becomes ready', async () => {
        await setup.start(['AA1AA-1'])
        setup.server.filterHabit = habit
        await setup.change(['AA1AA-1', 'BB1BB-1'])
        await setup.clock.advance(20_000)
        await setup.ready()
        expect(setup.metrics.value('filters_repaired')).to.equal(2)
        await setup.until(() => calls().length === 2)
        expect(calls()).to.deep.equal([CALL, 'N0CALL-99'])
        await setup.clock.advance(5000)
        await setup.until(() => calls().length === 1)
        expect(setup.filters()).to.deep.equal(['g/AA1AA-1/BB1BB-1'])
        await setup.reaches(['AA1AA-1', 'BB1BB-1'])
      })

      it('warns once of unanswered #filter lines, and logs in again at most once a minute', async () => {
        await setup.start(['AA1AA-1'])
        setup.server.filterHabit = habit
        await setup.change(['BB1BB-1'])
        await setup.clock.advance(20_000)
        await setup.until(() => setup.server.traffic.logins === 2)
        await setup.clock.advance(5000)
        await setup.until(() => calls().length === 1)
        const sent = setup.metrics.value('filters_sent')
        for (const station of ['CC1CC-1', 'DD1DD-1', 'EE1EE-1']) {
          await setup.change([station])
          await setup.until(() => setup.link.ready())
        }
        expect(setup.metrics.value('filters_sent')).to.equal(sent + 3)
        expect(setup.server.traffic.logins).to.equal(2)
        await setup.clock.advance(60_000)
        await setup.until(() => setup.server.traffic.logins === 3)
        await setup.clock.advance(5000)
        await setup.until(() => calls().length === 1)
        await setup.reaches(['EE1EE-1'])
        await setup.clock.advance(300_000)
        expect(setup.server.traffic.logins).to.equal(3)
        expect(setup.events('upstream-filter-unconfirmed')).to.have.length(1)
      })
    })
  }

  it('stops logging in again for filter changes once the server confirms a filter', async () => {
    await setup.start(['AA1AA-1'])
    setup.server.filterHabit = 'fixed_at_login'
    await setup.change(['BB1BB-1'])
    await setup.clock.advance(20_000)
    await setup.until(() => setup.server.traffic.logins === 2)
    setup.server.filterHabit = 'aprsc'
    await setup.change(['CC1CC-1'])
    await setup.clock.advance(70_000)
    await setup.until(() => calls().length === 1)
    const { logins } = setup.server.traffic
    await setup.change(['DD1DD-1'])
    await setup.ready()
    await setup.clock.advance(120_000)
    expect(setup.server.traffic.logins).to.equal(logins)
    await setup.reaches(['DD1DD-1'])
  })

  it('sends the newest filter if the stations changed during the login', async () => {
    setup.stations = new Set(['AA1AA-1'])
    setup.network.hold()
    setup.connect({ filterDebounceMs: 0 })
    await setup.clock.advance(0)
    // The connection is open, and the login line is in transit.
    setup.network.step()
    setup.stations = new Set(['BB1BB-1'])
    setup.link.refilter()
    await setup.clock.advance(0)
    setup.network.release()
    await setup.ready()
    expect(setup.filters()).to.deep.equal(['g/BB1BB-1'])
    expect(setup.metrics.value('filters_sent')).to.equal(2)
  })
})
