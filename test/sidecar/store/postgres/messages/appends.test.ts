import { expect } from 'chai'
import { type Clock, systemClock } from '../../../../../sidecar/clock.ts'
import { StoreError } from '../../../../../sidecar/errors.ts'
import type { AppendOutcome, ReceivedMessage, StationKey } from '../../../../../sidecar/messages/store.ts'
import type { Postgres, Queries } from '../../../../../sidecar/store/postgres/database/connection.ts'
import type { SqlValue } from '../../../../../sidecar/store/postgres/database/sql-values.ts'
import { openAppends } from '../../../../../sidecar/store/postgres/messages/appends.ts'
import { openReader } from '../../../../../sidecar/store/postgres/messages/reader.ts'
import { message, rejection, texts } from '../../sqlite/temporary-stores.ts'
import { postgresStores } from '../postgres-stores.ts'
import { APPENDS, registerIn } from './message-tables.ts'

const KEY = 'N0CALL'

const kinds = (outcomes: readonly AppendOutcome[]) => outcomes.map(({ kind }) => kind)
const numbered = (from: number, count: number, changes: Partial<ReceivedMessage> = {}) =>
  Array.from({ length: count }, (_, index) => message(`text ${from + index}`, { seqId: '', ...changes }))

describe('The messages that an instance stores in PostgreSQL', () => {
  const stores = postgresStores()
  let database: Postgres
  beforeEach(async () => {
    database = await stores.connect()
    await database.query('SELECT fit_rings($1)', [APPENDS.history.perStation])
    await registerIn(database, KEY, 'W1AW')
  })

  function instance(queries: Queries = database, clock: Clock = systemClock, onRetry = () => {}) {
    const notified: StationKey[] = []
    const onStored = (keys: readonly StationKey[]) => void notified.push(...keys)
    return { ...openAppends({ ...APPENDS, database: queries, clock, onStored, onRetry }), notified }
  }
  const another = async () => instance(await stores.connect())

  const held = async (key = KEY) => (await openReader(database).read(key, '', 0)).station?.messages ?? []

  /** A clock that follows the store's. Waiting for a delay advances the store's clock. */
  const standing: Clock = {
    ...systemClock,
    elapsed: () => stores.clock.elapsed(),
    after(delayMs, task) {
      void stores.clock.advance(delayMs).then(task)
      return { cancel: () => undefined }
    },
  }

  it('only one of two instances that receive the same message acknowledges it', async () => {
    const second = await another()
    const first = instance()
    for (let round = 0; round < 30; round += 1) {
      const batch = Array.from({ length: 8 }, (_, index) =>
        message('text', { from: `K${index}A`, seqId: `${round}`, to: index % 2 === 0 ? KEY : 'W1AW' }),
      )
      // In every other round, the batch repeats messages that were stored before without an ack.
      const earlier = round % 2 === 0 ? [] : await first.append(batch, false)
      const [firstOutcomes, secondOutcomes] = await Promise.all([first.append(batch, true), second.append(batch, true)])
      const acks = [...firstOutcomes, ...secondOutcomes].filter(
        (outcome) => outcome.kind !== 'no_station' && outcome.ack,
      )
      expect(acks).to.have.length(round < 10 ? 8 : 0)
      expect([...earlier, ...firstOutcomes, ...secondOutcomes].filter(({ kind }) => kind === 'stored')).to.have.length(
        8,
      )
    }
  })

  it('the first message of a station creates all slots of its ring', async () => {
    const places = () =>
      database.query('SELECT station, count(*)::int AS places FROM ring GROUP BY station ORDER BY station')
    expect(await places()).to.deep.equal([])
    const { append } = instance()
    await append(numbered(0, 60), false)
    await append([...numbered(60, 1), ...numbered(0, 2, { to: 'W1AW' }), ...numbered(0, 1, { to: 'K9NONE' })], false)
    expect(await places()).to.deep.equal([
      { station: KEY, places: 50 },
      { station: 'W1AW', places: 50 },
    ])
    expect(texts(await held())).to.deep.equal(Array.from({ length: 50 }, (_, index) => `text ${index + 11}`))
    expect(texts(await held('W1AW'))).to.deep.equal(['text 0', 'text 1'])
  })

  it('stores up to 1,000 waiting messages in one statement', async () => {
    const sizes: number[] = []
    const counted: Queries = {
      query<Row>(text: string, values: readonly SqlValue[] = []) {
        if (text.includes('append(')) sizes.push((values[0] as readonly SqlValue[]).length)
        return database.query<Row>(text, values)
      },
    }
    const { append } = instance(counted)
    const calls = [append(numbered(0, 2), false)]
    await Promise.resolve()
    await Promise.resolve()
    for (let from = 10; from < 1810; from += 300) calls.push(append(numbered(from, 300), false))
    const outcomes = (await Promise.all(calls)).flat()
    expect(new Set(kinds(outcomes))).to.deep.equal(new Set(['stored']))
    expect(sizes).to.deep.equal([2, 900, 900])
  })

  it("stores a message once, even if the database's answer is lost", async () => {
    let losses = 3
    const lossy: Queries = {
      async query<Row>(text: string, values?: readonly SqlValue[]) {
        const rows = await database.query<Row>(text, values)
        if (!text.includes('append(') || losses === 0) return rows
        losses -= 1
        // Longer than the horizon of messages without a number.
        await stores.clock.advance(15_000)
        throw new StoreError('database_unreachable')
      },
    }
    const { append } = instance(lossy, standing)
    expect(kinds(await append([message('a', { seqId: '' })], false))).to.deep.equal(['duplicate'])
    expect(losses).to.equal(0)
    expect(texts(await held())).to.deep.equal(['a'])
    // The message was stored with its arrival time. This copy arrives after the duplicate horizon, so it is new.
    expect(kinds(await append([message('a', { seqId: '' })], false))).to.deep.equal(['stored'])
  })

  it('keeps trying to store a message for a minute while the database is away', async () => {
    let tries = 0
    const away: Queries = {
      async query() {
        tries += 1
        throw new StoreError('database_unreachable')
      },
    }
    let retries = 0
    const { append } = instance(away, standing, () => {
      retries += 1
    })
    expect((await rejection(append([message('a')], false))).code).to.equal('database_unreachable')
    expect(stores.clock.elapsed()).to.be.within(59_000, 60_000)
    expect({ tries, retries }).to.deep.equal({ tries: 601, retries: 600 })
  })

  it('a call that the database refuses does not fail concurrent calls', async () => {
    const { append, notified } = instance()
    const good = append([message('a')], false)
    await Promise.resolve()
    await Promise.resolve()
    const [earlier, bad, later] = await Promise.allSettled([
      append([message('b')], false),
      append([message('c', { to: 'N0\0CALL' })], false),
      append([message('d')], false),
    ])
    expect([await good, earlier, later].map((item) => ('status' in item ? item.status : 'fulfilled'))).to.deep.equal([
      'fulfilled',
      'fulfilled',
      'fulfilled',
    ])
    expect(bad.status === 'rejected' && bad.reason).to.include({ code: 'store_fault' })
    expect(texts(await held())).to.deep.equal(['a', 'b', 'd'])
    expect(notified).to.deep.equal([KEY, KEY, KEY])
  })

  it('keeps at most about 100,000 rows of dropped messages, and deletes old ack rows', async function () {
    this.timeout(60_000)
    await database.onOwnConnection((connection) =>
      connection.run(`
        INSERT INTO dropped (station, identity, received_at) SELECT '${KEY}', int4send(n), 1 FROM generate_series(1, 100000) AS n;
        INSERT INTO ack_sent SELECT int4send(n), '${KEY}', '', '1', 1 FROM generate_series(1, 500) AS n`),
    )
    const { append } = instance()
    await append(numbered(0, 1100), false)
    const acked = Array.from({ length: 1000 }, (_, index) => message('x', { from: `K${index}`, to: 'W1AW' }))
    await append(acked, true)
    const rows = async (table: string) =>
      (await database.query<{ count: number }>(`SELECT count(*) FROM ${table}`))[0]?.count ?? Number.NaN
    while ((await rows('dropped')) > 101_000 || (await rows('ack_sent')) > 1000) await append(numbered(2000, 1), false)
    expect(await rows('dropped')).to.be.within(100_000, 101_000)
    expect(await rows('ack_sent')).to.equal(1000)
  })
})
