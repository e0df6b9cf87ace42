import { expect } from 'chai'
import pg from 'pg'
import { type Clock, systemClock } from '../../../../../sidecar/clock.ts'
import { createLog } from '../../../../../sidecar/log.ts'
import { connectPostgres, WHOLE_TABLE_MS } from '../../../../../sidecar/store/postgres/database/connection.ts'
import { openPostgresStore } from '../../../../../sidecar/store/postgres/open-postgres.ts'
import { startTcpRelay, type TcpRelay } from '../../../../support/tcp-relay.ts'
import { rejection, SETTINGS } from '../../sqlite/temporary-stores.ts'
import { freshDatabase, runAt } from '../shared-server.ts'

const MINUTE_MS = 60_000

describe('A PostgreSQL server that falls silent in the middle of a session', () => {
  let address = ''
  let relay: TcpRelay
  let events: unknown[] = []
  const limits = new Set<{ readonly ms: number; readonly task: () => void }>()
  const log = createLog('debug', { write: (line) => void events.push(JSON.parse(line).event) })
  const closing: (() => Promise<unknown>)[] = []

  /** Whose long limits the test has pass. */
  const clock: Clock = {
    ...systemClock,
    after(ms, task) {
      if (ms !== MINUTE_MS && ms !== WHOLE_TABLE_MS) return systemClock.after(ms, task)
      const limit = { ms, task }
      limits.add(limit)
      return { cancel: () => void limits.delete(limit) }
    },
  }
  const pass = (ms: number) => {
    for (const limit of limits) if (limit.ms <= ms) limit.task()
  }

  before(async function () {
    this.timeout(120_000)
    address = await freshDatabase()
  })
  beforeEach(async () => {
    events = []
    limits.clear()
    relay = await startTcpRelay(Number(new URL(address).port))
    closing.push(relay.close)
  })
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  const through = () => ({ database: address.replace(/:\d+\//, `:${relay.port}/`), databaseTls: { caFile: null } })

  async function connect() {
    const postgres = await connectPostgres(through(), clock, log)
    closing.push(postgres.close)
    return postgres
  }

  /** Resolves with how to end what `text` locks. */
  async function lock(text: string): Promise<() => Promise<void>> {
    const client = new pg.Client(address)
    await client.connect()
    closing.push(() => client.end())
    await client.query(text)
    return () => client.end()
  }

  const WAITING = `FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
  async function somebodyWaits(): Promise<void> {
    while ((await runAt(address, `SELECT ${WAITING}`)).length === 0);
  }

  it('is given up on after a minute, or ten where a statement may take long', async () => {
    const { onOwnConnection } = await connect()
    for (const [answerMs, beforeMs] of [
      [undefined, 0],
      [WHOLE_TABLE_MS, MINUTE_MS],
    ] as const) {
      const ended = rejection(
        onOwnConnection(async ({ query, run }) => {
          await query('SELECT 1')
          relay.silence()
          const answers = Promise.allSettled([query('SELECT 2', [], answerMs), run('SELECT 3', answerMs)])
          pass(beforeMs)
          expect(limits.size).to.equal(2)
          pass(answerMs ?? MINUTE_MS)
          for (const one of await answers) if (one.status === 'rejected') throw one.reason
        }),
      )
      expect((await ended).code).to.equal('database_unreachable')
    }
  })

  it('does not have the end of the session wait for its good-bye', async () => {
    const { onOwnConnection } = await connect()
    const done = await onOwnConnection(async ({ query }) => {
      await query('SELECT 1')
      relay.silence()
      return 'done'
    })
    expect(done).to.equal('done')
  })

  it('has the start say so, and begin anew', async () => {
    const unlock = await lock(`SELECT pg_advisory_lock(${0x6d637363})`)
    const opening = openPostgresStore({ ...SETTINGS, ...through() }, clock, log)
    await somebodyWaits()
    relay.silence()
    await runAt(address, `SELECT pg_terminate_backend(pid) ${WAITING}`)
    await unlock()
    pass(MINUTE_MS)
    const store = await opening
    closing.push(store.close)
    expect(events).to.include('store-write-failed')
  })
})
