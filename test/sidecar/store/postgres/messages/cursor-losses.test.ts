import { expect } from 'chai'
import fc from 'fast-check'
import { StoreError } from '../../../../../sidecar/errors.ts'
import type { Postgres, Queries } from '../../../../../sidecar/store/postgres/database/connection.ts'
import { openAppends } from '../../../../../sidecar/store/postgres/messages/appends.ts'
import { openCursors } from '../../../../../sidecar/store/postgres/messages/cursors.ts'
import { openHistory } from '../../../../../sidecar/store/postgres/messages/history.ts'
import { openReader } from '../../../../../sidecar/store/postgres/messages/reader.ts'
import { FakeClock } from '../../../../support/fake-clock.ts'
import { propertyRuns } from '../../../../support/property-runs.ts'
import { append, message } from '../../sqlite/temporary-stores.ts'
import { APPENDS, messageTables, registerIn } from './message-tables.ts'

const WRITTEN_AFTER_MS = 10_000

/** What becomes of a statement; until it is released, where it is slow. */
type Fate = 'prompt' | 'slow' | 'slow to answer' | 'carried out, its answer lost' | 'failed'

/** Statements that meet what a database far away does to them. */
class Wire implements Queries {
  writes: Fate = 'prompt'
  reads: Fate = 'prompt'
  readonly held: (() => void)[] = []
  readonly #database: Queries
  #busy = 0

  constructor(database: Queries) {
    this.#database = database
  }

  async query<Row>(...statement: Parameters<Queries['query']>): Promise<readonly Row[]> {
    const fate = statement[0].includes('UPDATE station') ? this.writes : this.reads
    if (fate === 'failed') throw new StoreError('database_unreachable')
    if (fate === 'slow') await this.#hold()
    const rows = await this.#carryOut<Row>(statement)
    if (fate === 'slow to answer') await this.#hold()
    if (fate === 'carried out, its answer lost') throw new StoreError('database_unreachable')
    return rows
  }

  /** Until nothing is under way but what is held. */
  async rest(): Promise<void> {
    for (let quiet = 0; quiet < 4; quiet += 1) {
      await new Promise((resolve) => setImmediate(resolve))
      if (this.#busy > 0) quiet = 0
    }
  }

  async #carryOut<Row>(statement: Parameters<Queries['query']>): Promise<readonly Row[]> {
    this.#busy += 1
    try {
      return await this.#database.query<Row>(...statement)
    } finally {
      this.#busy -= 1
    }
  }

  #hold(): Promise<void> {
    return new Promise((resolve) => void this.held.push(resolve))
  }
}

describe('Cursors of which answers are lost', () => {
  const tables = messageTables()
  let database: Postgres & { readonly address: string }
  let stations = 0
  beforeEach(async () => {
    database = await tables.open(APPENDS.history.perStation)
  })

  /** A station of its own, its phone, and an instance that both go by, with another one that looks on. */
  async function scene() {
    stations += 1
    const key = `S${stations}`
    await registerIn(database, [key])
    const clock = new FakeClock()
    const wire = new Wire(database)
    const open = (queries: Queries) => {
      const reader = openReader(queries)
      const cursors = openCursors({ database: queries, reader, clock })
      const appends = openAppends({ ...APPENDS, database })
      return { cursors, history: openHistory({ appends, reader, cursors, perStation: APPENDS.history.perStation }) }
    }
    const [here, there] = [open(wire), open(database)]
    const times: number[] = []
    /** Of the newest answer that the phone got. */
    let received = await here.cursors.current(key)
    /** Those that it will never get, and of which nobody knows that yet. */
    const doomed: { readonly serverTime: number; lost(): void }[] = []

    const expectSafe = (serverTime: number, of: string) => {
      const seen = Math.max(received, ...doomed.map((answer) => answer.serverTime))
      const skipped = times.filter((time) => time > seen && time <= serverTime)
      expect(skipped, `skipped by ${serverTime} of ${of}`).to.deep.equal([])
    }
    const inDatabase = async () => {
      const [station] = await database.query<{ seen: number }>('SELECT seen FROM station WHERE key = $1', [key])
      return station?.seen ?? Number.NaN
    }

    return {
      wire,
      clock,
      inDatabase,
      received: () => received,
      async receive() {
        const [outcome] = await append(there, message(`text ${times.length}`, { to: key }))
        if (outcome?.kind === 'stored') times.push(outcome.message.time)
      },
      /** A sync, whose answer the phone gets, or will not. */
      async leave(isDoomed: boolean) {
        const found = await here.history.since(key, received)
        if (!found) throw new Error('It is not registered.')
        const { serverTime } = found
        const delivery = here.cursors.handOut(key, received, serverTime)
        delivery.sent()
        if (isDoomed) doomed.push({ serverTime, lost: delivery.lost })
        else received = serverTime
      },
      /** One of the lost ones shows. */
      lose(index: number) {
        for (const answer of doomed.splice(index % Math.max(1, doomed.length), 1)) answer.lost()
        return wire.rest()
      },
      /** What is old is written, as far as that goes. */
      async age() {
        await clock.advance(WRITTEN_AFTER_MS)
        await wire.rest()
      },
      async release(index = 0) {
        for (const go of wire.held.splice(index % Math.max(1, wire.held.length), 1)) go()
        await wire.rest()
      },
      /** The stamp of a heartbeat's answer. */
      async beat() {
        const serverTime = await here.cursors.current(key)
        expectSafe(serverTime, 'this instance')
        return serverTime
      },
      async seal() {
        await here.cursors.seal()
        expectSafe(await inDatabase(), 'the database')
      },
      /** Whatever is under way ends, and what is old is written. */
      async end() {
        wire.writes = wire.reads = 'prompt'
        while (wire.held.length > 0) {
          for (const go of wire.held.splice(0)) go()
          await wire.rest()
        }
        for (let round = 0; round < 3; round += 1) {
          await clock.advance(WRITTEN_AFTER_MS)
          await wire.rest()
        }
        expect(wire.held).to.deep.equal([])
        expectSafe(await inDatabase(), 'the database')
        expectSafe(await there.cursors.current(key), 'another instance')
        expectSafe(await open(database).cursors.current(key), 'a new instance')
        expectSafe(await here.cursors.current(key), 'this instance')
      },
    }
  }

  // What a test does to one scene, one after the other.
  const receive = { does: 'receive' } as const
  const leave = (isDoomed = true) => ({ does: 'leave', isDoomed }) as const
  /** From then on writes have this fate, and what is old is written. */
  const age = (fate: Fate = 'prompt') => ({ does: 'age', fate }) as const
  const lose = (fate: Fate = 'prompt', index = 0) => ({ does: 'lose', index, fate }) as const
  const release = (index = 0) => ({ does: 'release', index }) as const
  const beat = (isSlow = false) => ({ does: 'beat', isSlow }) as const
  const end = { does: 'end' } as const
  type Step =
    | typeof receive
    | typeof end
    | ReturnType<typeof leave | typeof age | typeof lose | typeof release | typeof beat>

  /** Throws where a cursor counts what was lost, or goes back without a loss. */
  async function play(steps: readonly Step[]): Promise<void> {
    const at = await scene()
    let written = await at.inDatabase()
    let beaten = 0
    let lossSince = false
    const beats: Promise<unknown>[] = []
    for (const one of steps) {
      if (one.does === 'receive') await at.receive()
      if (one.does === 'leave') await at.leave(one.isDoomed)
      if (one.does === 'lose') {
        lossSince = true
        at.wire.writes = one.fate
        await at.lose(one.index)
      }
      if (one.does === 'age') {
        at.wire.writes = one.fate
        await at.age()
      }
      if (one.does === 'release') await at.release(one.index)
      if (one.does === 'beat') {
        // With three readings under way all others wait.
        const isSlow = one.isSlow && at.wire.held.length < 2
        at.wire.reads = isSlow ? 'slow to answer' : 'prompt'
        const beating = at.beat()
        // Told of at the end.
        beating.catch(() => undefined)
        beats.push(beating)
        await at.wire.rest()
        at.wire.reads = 'prompt'
        if (!isSlow) {
          const serverTime = await beating
          if (!lossSince) expect(serverTime, 'given').to.be.at.least(beaten)
          beaten = serverTime
        }
      }
      if (one.does === 'end') await at.end()
      const now = await at.inDatabase()
      if (!lossSince) expect(now, 'written').to.be.at.least(written)
      written = now
      if (one.does === 'end' && lossSince) [beaten, lossSince] = [0, false]
    }
    await at.end()
    await Promise.all(beats)
  }

  for (const [name, ...steps] of [
    ['lost while it is being written', age('slow to answer'), lose('slow to answer'), beat(), release(), beat()],
    ['whose write was carried out after it was lost', age('slow'), lose(), release(), beat()],
    ['that was written although that seemed to fail', age('carried out, its answer lost'), lose(), beat()],
    ['lost once a heartbeat has gone by it', beat(), age(), lose(), beat()],
    ['by a reading that is older than what was taken back', age(), beat(true), lose(), release()],
  ] as const)
    it(`do not count one ${name}`, () => play([receive, leave(), ...steps]))

  for (const [order, first] of [
    ['the newer one first', 1],
    ['the older one first', 0],
  ] as const)
    it(`count neither of two that are lost at once, ${order}`, async () => {
      const { receive, leave, age, lose, beat, end } = await scene()
      for (let times = 0; times < 2; times += 1) {
        await receive()
        await leave(true)
      }
      await age()
      await Promise.all([lose(first), lose(0)])
      await beat()
      await end()
    })

  it('are closed once what was lost in the middle of a write is taken back', async () => {
    const { wire, receive, leave, age, lose, release, seal } = await scene()
    await receive()
    await leave(true)
    wire.writes = 'slow to answer'
    await age()
    wire.writes = 'prompt'
    await lose(0)
    const sealed = seal()
    await release()
    await sealed
  })

  it('write down what was received', async () => {
    const { receive, leave, inDatabase, received, end } = await scene()
    await receive()
    await leave(false)
    await end()
    expect(await inDatabase()).to.be.at.least(received())
  })

  it('never count what was lost, and go back without a loss never, whatever order things come in', async function () {
    this.timeout(300_000)
    const index = fc.nat(5)
    const fate = fc.constantFrom<Fate>('prompt', 'slow', 'slow to answer', 'carried out, its answer lost', 'failed')
    const step: fc.Arbitrary<Step> = fc.oneof(
      fc.constant(receive),
      fc.boolean().map(leave),
      { weight: 3, arbitrary: fc.tuple(fate, index).map((loss) => lose(...loss)) },
      { weight: 3, arbitrary: fate.map(age) },
      { weight: 2, arbitrary: index.map(release) },
      fc.boolean().map(beat),
      fc.constant(end),
    )
    await fc.assert(
      // A message and its answer first, since nothing else can be lost.
      fc.asyncProperty(fc.array(step, { minLength: 4, maxLength: 25 }), (steps) => play([receive, leave(), ...steps])),
      { numRuns: propertyRuns(20) },
    )
  })
})
