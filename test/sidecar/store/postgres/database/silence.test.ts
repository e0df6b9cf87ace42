import { connect as connectTcp, createServer } from 'node:net'
import { expect } from 'chai'
import { type Clock, systemClock } from '../../../../../sidecar/clock.ts'
import { WHOLE_TABLE_MS } from '../../../../../sidecar/store/postgres/database/connection.ts'
import { openPostgresStore } from '../../../../../sidecar/store/postgres/open-postgres.ts'
import { onLoopback } from '../../../../support/on-loopback.ts'
import { recordedLog } from '../../../../support/recorded-log.ts'
import type { TcpRelay } from '../../../../support/tcp-relay.ts'
import { rejection, SETTINGS } from '../../sqlite/temporary-stores.ts'
import { ownDatabase, WAITING } from '../shared-server.ts'

const MINUTE_MS = 60_000

describe('A PostgreSQL server that stops answering', () => {
  const database = ownDatabase()
  const { log, shown } = recordedLog()
  let relay: TcpRelay
  let address = ''
  const limits = new Set<{ readonly ms: number; readonly task: () => void }>()

  /** A clock on which the test lets long limits pass. */
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

  beforeEach(async () => {
    limits.clear()
    ;({ relay, address } = await database.relayed())
  })

  const connect = () => database.connect(clock, log, address)

  it('gives up an SQL statement after 1 min, or 10 min if it reads a whole table', async () => {
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
          for (const item of await answers) if (item.status === 'rejected') throw item.reason
        }),
      )
      expect((await ended).code).to.equal('database_unreachable')
    }
  })

  it('closing a PostgreSQL session does not wait for a silent server', async () => {
    const { onOwnConnection } = await connect()
    const done = await onOwnConnection(async ({ query }) => {
      await query('SELECT 1')
      relay.silence()
      return 'done'
    })
    expect(done).to.equal('done')
  })

  it('a start reports a PostgreSQL that does not answer, reconnects and succeeds', async () => {
    const unlock = await database.hold(`SELECT pg_advisory_lock(${0x6d637363})`)
    const opening = openPostgresStore({ ...SETTINGS, ...database.at(address) }, clock, log)
    await database.waiting(1)
    relay.silence()
    await database.run(`SELECT pg_terminate_backend(pid) ${WAITING}`)
    await unlock()
    pass(MINUTE_MS)
    const store = await opening
    database.closing.push(store.close)
    expect(shown('event')).to.include('store-write-failed')
  })

  // Shows: sidecar P1.17.
  it('listens on a new connection if the server did not answer LISTEN', async () => {
    const server = Number(new URL(database.address).port)
    let listens = 0
    const proxy = createServer((client) => {
      const upstream = connectTcp(server, '127.0.0.1')
      for (const socket of [client, upstream]) socket.on('error', () => undefined)
      client.on('close', () => upstream.destroy())
      upstream.pipe(client)
      client.on('data', (bytes) => {
        // Drop the first LISTEN.
        if (bytes.includes('LISTEN')) listens += 1
        if (!bytes.includes('LISTEN') || listens > 1) upstream.write(bytes)
      })
    })
    const { port, close } = await onLoopback(proxy)
    database.closing.push(close)
    const hasty: Clock = { ...systemClock, after: (ms, task) => systemClock.after(ms / 50, task) }
    const { listen } = await database.connect(hasty, log, database.address.replace(/:\d+\//, `:${port}/`))
    await new Promise<void>((resolve) => listen('mesh_companion', resolve))
    expect(listens).to.equal(2)
  })
})
