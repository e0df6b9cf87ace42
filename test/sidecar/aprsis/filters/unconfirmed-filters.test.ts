import { expect } from 'chai'
import { UnconfirmedFilters } from '../../../../sidecar/aprsis/filters/unconfirmed-filters.ts'
import { FakeClock } from '../../../support/fake-clock.ts'

describe('The filters that APRS-IS servers leave unconfirmed', () => {
  let clock: FakeClock
  let filters: UnconfirmedFilters
  let warned: unknown[]
  /** Times of the renewals, in milliseconds since the start of the test. */
  let renewals: number[]

  beforeEach(() => {
    clock = new FakeClock()
    warned = []
    renewals = []
    filters = new UnconfirmedFilters({
      clock,
      log: { warn: (event, _message, fields) => void warned.push([event, fields?.server]) },
      onRenew: () => void renewals.push(clock.elapsed()),
    })
  })

  it('warns once per server that answers no #filter line, until it confirms a filter', () => {
    const warning = (server: string) => ['upstream-filter-unconfirmed', server]
    for (const server of ['T2A', 'T2A', 'T2B']) filters.onAnswer(server, 'unanswered')
    expect(warned).to.deep.equal([warning('T2A'), warning('T2B')])
    filters.onAnswer('T2A', 'confirmed')
    expect(filters.isSilent('T2A')).to.equal(false)
    expect(filters.isSilent('T2B')).to.equal(true)
    filters.onAnswer('T2A', 'unanswered')
    expect(warned.slice(2)).to.deep.equal([warning('T2A')])
  })

  it('remembers the latest 200 servers that answer no #filter line', () => {
    const servers = Array.from({ length: 201 }, (_, index) => `T2-${index}`)
    for (const server of servers.slice(0, 200)) filters.onAnswer(server, 'unanswered')
    expect(servers.filter((server) => filters.isSilent(server))).to.have.length(200)
    filters.onAnswer('T2-200', 'unanswered')
    expect(servers.filter((server) => !filters.isSilent(server))).to.deep.equal(['T2-0'])
  })

  it('renews unconfirmed filters at once, and then at most once per minute', async () => {
    filters.onAnswer('T2A', 'confirmed')
    await clock.advance(10_000)
    expect(renewals).to.deep.equal([])
    for (const server of ['T2A', 'T2B']) filters.onAnswer(server, 'unanswered')
    await clock.advance(20_000)
    expect(renewals).to.deep.equal([10_000])
    for (const server of ['T2A', 'T2C']) filters.onAnswer(server, 'unanswered')
    await clock.advance(300_000)
    expect(renewals).to.deep.equal([10_000, 70_000])
    filters.onAnswer('T2A', 'unanswered')
    await clock.advance(0)
    expect(renewals).to.deep.equal([10_000, 70_000, 330_000])
  })

  it('renews no unconfirmed filter after close', async () => {
    filters.close()
    filters.onAnswer('T2A', 'unanswered')
    filters.close()
    await clock.advance(60_000)
    expect(renewals).to.deep.equal([])
  })
})
