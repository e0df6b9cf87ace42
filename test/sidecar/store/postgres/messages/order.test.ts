import { expect } from 'chai'
import fc from 'fast-check'
import pg from 'pg'
import { type Clock, systemClock } from '../../../../../sidecar/clock.ts'
import type { StoredMessage } from '../../../../../sidecar/messages/store.ts'
import type { Postgres, Queries } from '../../../../../sidecar/store/postgres/database/connection.ts'
import { toStoreError } from '../../../../../sidecar/store/postgres/database/postgres-error.ts'
import type { SqlValue } from '../../../../../sidecar/store/postgres/database/sql-values.ts'
import { openAppends } from '../../../../../sidecar/store/postgres/messages/appends.ts'
import { openReader } from '../../../../../sidecar/store/postgres/messages/reader.ts'
import { propertyRuns } from '../../../../support/property-runs.ts'
import { message } from '../../sqlite/temporary-stores.ts'
import { ownDatabase } from '../shared-server.ts'
import { APPENDS, registerIn } from './message-tables.ts'

const PER_STATION = 200
/** A clock that makes the pauses between retries 20 times shorter. */
const HASTY: Clock = { ...systemClock, after: (delayMs, task) => systemClock.after(delayMs / 20, task) }
const STATIONS = 3

const statement = fc.record({
  to: fc.array(fc.nat(STATIONS - 1), { minLength: 1, maxLength: 4 }),
  /** How long the transaction stays open after its inserts. */
  holdMs: fc.nat(8),
  /** Whether other writers store the same message, as two listeners do. */
  shared: fc.boolean(),
})
const play = fc.record({
  writers: fc.array(fc.array(statement, { minLength: 1, maxLength: 5 }), { minLength: 2, maxLength: 4 }),
  readers: fc.integer({ min: 2, max: 4 }),
  /** All writers are killed when these statements begin. Statements are numbered across all writers. */
  killsAt: fc.array(fc.integer({ min: 1, max: 12 }), { maxLength: 4 }),
})
type Play = typeof play extends fc.Arbitrary<infer T> ? T : never

/** A connection that keeps each transaction open for a while, and reconnects after it was killed. */
function holdingConnection(
  address: string,
  name: string,
): { queries: Queries; hold(ms: number): void; end(): Promise<void> } {
  let client: pg.Client | undefined
  let holdMs = 0

  async function connected(): Promise<pg.Client> {
    if (client) return client
    const options = '-c search_path=mesh_companion -c jit=off'
    const connection = new pg.Client({ connectionString: address, application_name: name, options })
    connection.on('error', () => undefined)
    await connection.connect()
    client = connection
    return connection
  }

  return {
    queries: {
      async query<Row>(text: string, values: readonly SqlValue[] = []) {
        try {
          const first = await connected()
          await first.query('BEGIN')
          const { rows } = await first.query(text, [...values])
          await first.query('SELECT pg_sleep($1)', [holdMs / 1000])
          await first.query('COMMIT')
          return rows.map((row) => ({ ...row, base: Number(row.base) })) as readonly Row[]
        } catch (error) {
          await client?.end().catch(() => undefined)
          client = undefined
          throw toStoreError(error)
        }
      },
    },
    hold: (ms) => {
      holdMs = ms
    },
    end: async () => client?.end(),
  }
}

describe('The order of messages that several instances store', () => {
  const suiteDatabase = ownDatabase()
  let plays = 0
  let killed = 0

  /** Runs all writers and readers. Throws if a reader misses a message, or reads one twice or out of order. */
  async function run(database: Postgres, { writers, readers, killsAt }: Play) {
    plays += 1
    const name = `writer-${plays}`
    const keys = Array.from({ length: STATIONS }, (_, index) => `S${plays}-${index}`)
    await registerIn(database, ...keys)
    const stored = new Map<string, number>()
    const kills: Promise<readonly unknown[]>[] = []
    let begun = 0
    let writing = true

    async function write(statements: Play['writers'][number], index: number): Promise<void> {
      const connection = holdingConnection(suiteDatabase.address, name)
      const appends = openAppends({
        ...APPENDS,
        database: connection.queries,
        clock: HASTY,
        onStored: () => undefined,
      })
      try {
        for (const [step, { to, holdMs, shared }] of statements.entries()) {
          connection.hold(holdMs)
          begun += 1
          if (killsAt.includes(begun)) kill()
          const owner = shared ? 'shared' : `of ${index}`
          const batch = to.map((index, place) => message(`${owner} ${step} ${place}`, { to: keys[index] as string }))
          for (const outcome of await appends.append(batch, false)) {
            if (outcome.kind !== 'stored') continue
            const text = `${outcome.message.to} ${outcome.message.text}`
            if (stored.has(text)) throw new Error(`${text} was stored twice.`)
            stored.set(text, outcome.message.stamp)
          }
        }
      } finally {
        await connection.end()
      }
    }

    function kill(): void {
      const killing = database.query(
        'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1',
        [name],
      )
      killing.catch(() => undefined)
      kills.push(killing)
    }

    async function read(): Promise<readonly (readonly StoredMessage[])[]> {
      const reader = openReader(database)
      const phones = keys.map((key) => ({ key, cursor: 0, got: [] as StoredMessage[] }))
      for (let last = false; !last; ) {
        last = !writing
        for (const phone of phones) {
          const { last: serverTime, station } = await reader.read(phone.key, '', phone.cursor)
          for (const item of station?.messages ?? []) {
            if (item.stamp <= (phone.got.at(-1)?.stamp ?? phone.cursor) || item.stamp >= serverTime)
              throw new Error(`${item.stamp} is no time between ${phone.cursor} and ${serverTime}.`)
            phone.got.push(item)
          }
          if (serverTime < phone.cursor) throw new Error('The cursor went back.')
          phone.cursor = serverTime
        }
      }
      return phones.map(({ got }) => got)
    }

    const reading = Promise.all(Array.from({ length: readers }, read))
    reading.catch(() => undefined)
    await Promise.all(writers.map(write)).finally(() => {
      writing = false
    })
    for (const ended of await Promise.all(kills)) killed += ended.length
    const whole = openReader(database)
    for (const phones of await reading) {
      for (const [index, key] of keys.entries()) {
        const got = phones[index]?.map(({ text, stamp }) => `${stamp} ${text}`)
        const held = (await whole.read(key, '', 0)).station?.messages ?? []
        expect(got).to.deep.equal(held.map(({ text, stamp }) => `${stamp} ${text}`))
        expect(new Set(held.map(({ text }) => text.toString())).size).to.equal(held.length)
        for (const [text, time] of stored)
          if (text.startsWith(`${key} `)) expect(got).to.include(`${time} ${text.slice(key.length + 1)}`)
      }
    }
  }

  it('each reader gets each message once and in order, even if writers are killed', async function () {
    this.timeout(600_000)
    const database = await suiteDatabase.tables(PER_STATION)
    await fc.assert(
      fc.asyncProperty(play, (item) => run(database, item)),
      { numRuns: propertyRuns(12) },
    )
    expect(killed).to.be.above(0)
  })
})
