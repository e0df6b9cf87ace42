import { expect } from 'chai'
import { StoreError } from '../../../../../sidecar/errors.ts'
import type { Postgres, Queries } from '../../../../../sidecar/store/postgres/database/connection.ts'
import { openAppends } from '../../../../../sidecar/store/postgres/messages/appends.ts'
import { openCursors } from '../../../../../sidecar/store/postgres/messages/cursors.ts'
import { openHistory } from '../../../../../sidecar/store/postgres/messages/history.ts'
import { openReader } from '../../../../../sidecar/store/postgres/messages/reader.ts'
import { FakeClock } from '../../../../support/fake-clock.ts'
import { stampOf } from '../../sqlite/temporary-stores.ts'
import { ownDatabase } from '../shared-server.ts'
import { APPENDS, registerIn } from './message-tables.ts'

const KEY = 'N0CALL'
const WRITTEN_AFTER_MS = 10_000

describe('The cursors of several instances', () => {
  const own = ownDatabase()
  let database: Postgres
  let clock: FakeClock
  /** What becomes of writes. */
  let writes: (write: () => Promise<unknown>) => Promise<unknown>
  beforeEach(async () => {
    database = await own.tables(APPENDS.history.perStation)
    await registerIn(database, KEY)
    clock = new FakeClock()
    writes = (write) => write()
  })

  function instance() {
    const queries: Queries = {
      async query<Row>(...statement: Parameters<Queries['query']>) {
        const query = () => database.query<Row>(...statement)
        return (statement[0].includes('UPDATE device') ? await writes(query) : await query()) as readonly Row[]
      },
    }
    const reader = openReader(queries)
    const cursors = openCursors({ database: queries, reader, clock })
    const { perStation } = APPENDS.history
    return {
      ...cursors,
      history: openHistory({ appends: openAppends({ ...APPENDS, database }), reader, cursors, perStation }),
    }
  }

  const receive = (text: string) => stampOf(instance(), text)

  const asked = async () => {
    const [station] = await database.query<{ asked: number }>('SELECT asked FROM device WHERE key = $1', [KEY])
    return station?.asked
  }

  /** Until the write that is due has ended. */
  async function written(): Promise<void> {
    const before = writes
    const ended = new Promise<void>((resolve) => {
      writes = (write) => before(write).finally(resolve)
    })
    await clock.advance(WRITTEN_AFTER_MS)
    await ended
    writes = before
  }

  it('go by what the phone brought to any of them, once that is written down', async () => {
    const [here, there] = [instance(), instance()]
    const first = await receive('a')
    await receive('b')
    expect(await here.timeOf(KEY, '', first)).to.equal(first)
    expect(await there.timeOf(KEY, '')).to.be.below(first)
    await written()
    expect(await there.timeOf(KEY, '')).to.equal(first)
  })

  it('are never replaced by older ones', async () => {
    const [here, there] = [instance(), instance()]
    const [first, second] = [await receive('a'), await receive('b')]
    await receive('c')
    await here.timeOf(KEY, '', first)
    await there.timeOf(KEY, '', second)
    await there.seal()
    await here.seal()
    expect(await asked()).to.equal(second)
  })

  it('are written down later where the database is away', async () => {
    const here = instance()
    const first = await receive('a')
    await receive('b')
    await here.timeOf(KEY, '', first)
    writes = () => Promise.reject(new StoreError('database_unreachable'))
    await written()
    expect([await asked(), await here.timeOf(KEY, '')]).to.deep.equal([0, first])
    writes = (write) => write()
    await written()
    expect(await asked()).to.equal(first)
  })
})
