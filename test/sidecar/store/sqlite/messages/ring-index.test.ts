import { expect } from 'chai'
import fc from 'fast-check'
import type { Connection } from '../../../../../sidecar/store/sqlite/database/connection.ts'
import type { Database, Transaction } from '../../../../../sidecar/store/sqlite/database/database.ts'
import { groupCommits } from '../../../../../sidecar/store/sqlite/database/group-commits.ts'
import { openFile } from '../../../../../sidecar/store/sqlite/database/open-file.ts'
import { openRingIndex, type RingIndex } from '../../../../../sidecar/store/sqlite/messages/ring-index.ts'
import { propertyRuns } from '../../../../support/property-runs.ts'
import { rejection, temporaryStores } from '../temporary-stores.ts'

const HOUR = 3_600_000
const PER_STATION = 3
const SETTINGS = { perStation: PER_STATION, duplicateMinutes: 60, duplicateSecondsUnnumbered: 30 }
const STATIONS = ['N1CALL', 'N2CALL', 'N3CALL']

const INSERT = `
  INSERT INTO message SELECT value ->> 0, value ->> 1, 'W1AW', '', x'', 0, NULL, NULL FROM json_each(?)`

const REGISTER = 'INSERT INTO station (key, registered_at) SELECT value, 1 FROM json_each(?)'
const FORGET_DROPPED = 'UPDATE station SET dropped_through = 0 WHERE key = ?'

type Step =
  | { readonly kind: 'add'; readonly to: readonly string[] }
  | { readonly kind: 'discard'; readonly station: string; readonly atMost: number | undefined }
  | { readonly kind: 'sweep' }

const station = fc.constantFrom(...STATIONS)
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('add' as const), to: fc.array(station, { maxLength: 9 }) }) },
  fc.record({
    kind: fc.constant('discard' as const),
    station,
    atMost: fc.constantFrom(1, 2, undefined),
  }),
  fc.constant({ kind: 'sweep' as const }),
)
/** Steps of one transaction, whether it fails, and the pause after it. */
const transaction = fc.record({
  steps: fc.array(step, { minLength: 1, maxLength: 4 }),
  fails: fc.boolean(),
  pauseMs: fc.constantFrom(0, HOUR / 2),
})

describe('The in-memory index of the ring buffers', () => {
  const stores = temporaryStores()
  let connection: Connection
  let database: Database
  let rings: RingIndex
  let time = 0

  async function open(): Promise<void> {
    await stores.wipe()
    connection = await openFile(stores.path())
    database = groupCommits(connection, stores.clock, stores.log)
    await connection.all(REGISTER, JSON.stringify(STATIONS))
    rings = (await openRingIndex(connection, SETTINGS)).rings
    time = 0
  }
  const close = () => database.close(async () => undefined)

  async function take(tx: Transaction, first: Step): Promise<void> {
    const now = stores.clock.now()
    if (first.kind === 'sweep') {
      const ringsBefore = contentsOf(rings).rings
      await rings.sweep(tx, now)
      return void expect(contentsOf(rings).rings).to.deep.equal(ringsBefore)
    }
    if (first.kind === 'discard') {
      await rings.discard(tx, [first.station], first.atMost)
      // Simulate that the station was removed and registered again.
      if (![...rings.keys()].includes(first.station)) await tx.all(FORGET_DROPPED, first.station)
      return
    }
    const messages = first.to.map((to) => ({ to, stamp: ++time }))
    rings.add(tx, messages, now)
    await tx.all(INSERT, JSON.stringify(messages.map(({ to, stamp }) => [stamp, to])))
  }

  function run(steps: readonly Step[], fails: boolean): Promise<void> {
    return database.write(
      {
        async run(tx, inputs: readonly undefined[]) {
          for (const item of steps) await take(tx, item)
          if (fails) throw new Error('after all not')
          return inputs.map(() => undefined)
        },
      },
      undefined,
    )
  }

  const contentsOf = (index: RingIndex) => ({
    rings: STATIONS.map((key) => index.newer(key, 0)),
    newest: STATIONS.map((key) => index.newest(key)),
    newestDropped: STATIONS.map((key) => index.newestDropped(key)),
    dropped: index.dropped(),
    keys: [...index.keys()].sort(),
  })

  it('the ring index matches the database file after each commit or rollback', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(transaction, { minLength: 1, maxLength: 12 }), async (transactions) => {
        await open()
        try {
          for (const { steps, fails, pauseMs } of transactions) {
            if (fails) await rejection(run(steps, true))
            else await run(steps, false)
            // Ends the database's own retry of a failed write: the file is read between two transactions.
            await database.probe()
            expect(contentsOf(rings)).to.deep.equal(contentsOf((await openRingIndex(connection, SETTINGS)).rings))
            await stores.clock.advance(pauseMs)
          }
          // After an hour, sweeps delete all dropped messages.
          await stores.clock.advance(HOUR)
          while (rings.isSweepable(stores.clock.now())) await run([{ kind: 'sweep' }], false)
          expect(rings.dropped()).to.deep.equal([])
          const held = STATIONS.flatMap((key) => rings.newer(key, 0)).sort((a, b) => a - b)
          expect(
            (await connection.all<{ time: number }>('SELECT time FROM message')).map((row) => row.time),
          ).to.deep.equal(held)
        } finally {
          await close()
        }
      }),
      { numRuns: propertyRuns(30) },
    )
  })

  it('a restart does not change how long the ring index keeps dropped messages', async () => {
    await open()
    const arrivedAt = stores.clock.now()
    const rows = Array.from({ length: 2 * (PER_STATION + 2) }, (_, index) => [
      index + 1,
      STATIONS[index % 2],
      arrivedAt + 1000 * index,
    ])
    await connection.all(
      "INSERT INTO message SELECT value ->> 0, value ->> 1, 'W1AW', '', x'', value ->> 2, NULL, NULL FROM json_each(?)",
      JSON.stringify(rows),
    )
    rings = (await openRingIndex(connection, SETTINGS)).rings
    const state = () => [rings.isSweepable(stores.clock.now()), rings.dropped()]
    await stores.clock.advance(HOUR - 1)
    expect(state()).to.deep.equal([false, [1, 2, 3, 4]])
    await stores.clock.advance(1)
    for (const remaining of [[2, 3, 4], [3, 4], [4], []]) {
      await run([{ kind: 'sweep' }], false)
      expect(state()).to.deep.equal([false, remaining])
      await stores.clock.advance(1000)
    }
    await close()
  })
})
