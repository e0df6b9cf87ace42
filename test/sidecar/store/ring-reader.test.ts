import { expect } from 'chai'
import type { Store } from '../../../sidecar/messages/store.ts'
import type { Connection, SqlValue } from '../../../sidecar/store/connection.ts'
import { buildStore, openFile } from '../../../sidecar/store/open-store.ts'
import { message, register, rejection, SETTINGS, temporaryStores, texts } from './temporary-stores.ts'

describe('Reading rings', () => {
  const stores = temporaryStores()
  let store: Store
  let queries: string[]
  let failing: boolean
  beforeEach(async () => {
    queries = []
    failing = false
    const file = await openFile(stores.path())
    const watched: Connection = {
      ...file,
      async all<Row>(sql: string, ...values: readonly SqlValue[]) {
        queries.push(sql)
        if (failing && sql.includes('FROM message')) throw new Error('the disk does not answer')
        return file.all<Row>(sql, ...values)
      },
    }
    store = await buildStore(watched, SETTINGS, stores.clock, stores.log)
  })
  afterEach(() => store.close())

  const STATIONS = Array.from({ length: 100 }, (_, index) => `K${index}AB`)
  const askAll = () => Promise.all(STATIONS.map((station) => store.history.since(station, 0)))

  it('happens in few queries when many ask at a time, and gives each what is its own, with a cursor of its own', async () => {
    await register(store, ...STATIONS)
    await store.history.append(STATIONS.map((to) => message(`for ${to}`, { to })))
    queries.length = 0
    const answers = await askAll()
    expect(queries.length).to.be.at.most(5)
    expect(answers.map(({ messages }) => texts(messages))).to.deep.equal(STATIONS.map((to) => [`for ${to}`]))
    const cursors = answers.map(({ serverTime }) => serverTime)
    expect(cursors).to.deep.equal([...new Set(cursors)].sort((one, other) => one - other))
  })

  it('takes each from where it asks, of one station too', async () => {
    await register(store, 'N0CALL')
    const times: number[] = []
    for (const text of ['one', 'two', 'three'])
      for (const outcome of await store.history.append([message(text)]))
        if (outcome.kind === 'stored') times.push(outcome.message.time)
    const answers = await Promise.all([0, ...times].map((since) => store.history.since('N0CALL', since)))
    expect(answers.map(({ messages }) => texts(messages))).to.deep.equal([
      ['one', 'two', 'three'],
      ['two', 'three'],
      ['three'],
      [],
    ])
  })

  it('holds nobody up for long: writes get in between', async () => {
    await register(store, ...STATIONS)
    queries.length = 0
    const asked = askAll()
    await store.history.append([message('in between', { to: 'K99AB' })])
    const reads = queries.filter((sql) => sql.includes('hex(text)')).length
    await asked
    expect(reads).to.be.below(queries.filter((sql) => sql.includes('hex(text)')).length)
  })

  it('fails for those who asked while it failed, and for nobody later', async () => {
    await register(store, ...STATIONS)
    failing = true
    const failed = await Promise.all(STATIONS.map((station) => rejection(store.history.since(station, 0))))
    expect(new Set(failed.map(({ code }) => code))).to.deep.equal(new Set(['store_fault']))
    failing = false
    expect(await askAll()).to.have.length(STATIONS.length)
  })

  it('has a bound to how many may wait', async () => {
    const asked = Array.from({ length: 10_001 }, () => store.history.since('N0CALL', 0))
    const outcomes = await Promise.allSettled(asked)
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected')
    expect(refused.map(({ reason }) => reason.code)).to.deep.equal(['store_overloaded'])
  })

  it('is refused once the store is closed, to those who wait too', async () => {
    const asked = STATIONS.map((station) => store.history.since(station, 0).then(String, ({ code }) => code))
    await store.close()
    const outcomes = new Set(await Promise.all(asked))
    outcomes.delete('[object Object]')
    expect([...outcomes]).to.deep.equal(['store_closed'])
    expect((await rejection(store.history.since('N0CALL', 0))).code).to.equal('store_closed')
  })
})
