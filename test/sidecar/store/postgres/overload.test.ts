import { expect } from 'chai'
import { type RunningApi, registration as registerBody, startApi } from '../../../support/running-api.ts'
import { registration } from '../sqlite/temporary-stores.ts'
import { postgresStores } from './postgres-stores.ts'

describe('The API while PostgreSQL is overloaded', () => {
  const stores = postgresStores()
  let api: RunningApi
  beforeEach(async () => {
    api = await startApi({ over: { store: await stores.open(), clock: stores.clock } })
  })
  afterEach(() => api.close())

  const register = (callsign: string) => api.post('/v1/register', registerBody(callsign))
  const overloads = () => api.logged.filter(({ event }) => event === 'api-overloaded')

  /** Fills the queue of registrations while the database is locked. Resolves with a function that unlocks it. */
  async function fill(): Promise<() => Promise<void>> {
    const release = await stores.hold('BEGIN; UPDATE mesh_companion.clock SET last = last')
    const first = api.store.stations.register(registration('A1A'))
    await stores.waiting(1)
    const rest = Array.from({ length: 10_000 }, () => api.store.stations.register(registration('B1B')))
    const settled = Promise.allSettled([first, ...rest])
    return async () => {
      await release()
      await settled
    }
  }

  // Shows: sidecar P1.16.
  it('the API answers 503 while registrations pile up, and serves again afterwards', async () => {
    const goOn = await fill()
    const { status, body, headers } = await register('N0CALL')
    expect(status).to.equal(503)
    expect(body.error).to.equal('overloaded')
    expect(headers['retry-after']).to.equal('10')
    // A request that waited too long is refused at its turn.
    await api.clock.advance(10_001)
    await goOn()
    expect((await register('N0CALL')).status).to.equal(200)
  })

  // Shows: sidecar P1.16.
  it('logs api-overloaded once, until a minute passes without a refused call', async () => {
    const goOn = await fill()
    for (const callsign of ['N0CALL', 'N1CALL', 'N2CALL']) await register(callsign)
    expect(overloads().map(({ level }) => level)).to.deep.equal(['warn'])
    expect(api.logged.filter(({ event }) => event === 'api-failed')).to.deep.equal([])
    await api.clock.advance(60_000)
    await register('N0CALL')
    expect(overloads()).to.have.length(2)
    await goOn()
  })

  // Shows: sidecar C6.2.
  it('the API closes only after the store has settled the pending registration', async () => {
    const release = await stores.hold('BEGIN; UPDATE mesh_companion.clock SET last = last')
    const answer = register('N0CALL').catch(() => 'cut')
    await stores.waiting(1)
    const order: string[] = []
    const closed = api.api.close().then(() => order.push('closed'))
    expect(await answer).to.equal('cut')
    order.push('settled')
    await release()
    await closed
    expect(order).to.deep.equal(['settled', 'closed'])
    expect((await api.store.stations.find('N0CALL-7'))?.key).to.equal('N0CALL-7')
  })
})
