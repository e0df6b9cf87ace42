import { expect } from 'chai'
import pg from 'pg'
import { type Clock, systemClock } from '../../../../sidecar/clock.ts'
import { createLog } from '../../../../sidecar/log.ts'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { openPostgresStore } from '../../../../sidecar/store/postgres/open-postgres.ts'
import { append, held, register, rejection, SETTINGS } from '../sqlite/temporary-stores.ts'
import { freshDatabase } from './shared-server.ts'

/** Its probes come at once; the server's time is real. */
const HASTY: Clock = { ...systemClock, after: (delayMs, task) => systemClock.after(delayMs / 50, task) }

describe('A store in PostgreSQL where messages cannot be written', () => {
  let admin: pg.Client
  let store: Store
  let events: unknown[] = []
  let onLine: (() => void) | undefined
  const log = createLog('debug', {
    write(line) {
      events.push(JSON.parse(line).event)
      onLine?.()
    },
  })

  beforeEach(async function () {
    this.timeout(120_000)
    events = []
    const database = await freshDatabase()
    admin = new pg.Client(database)
    await admin.connect()
    const settings = { ...SETTINGS, database, databaseTls: { caFile: null } }
    store = await openPostgresStore(settings, HASTY, log)
    await register(store, 'N0CALL')
  })
  afterEach(async () => {
    await admin.end()
    await store.close()
  })

  const logged = (event: string) =>
    new Promise<void>((resolve) => {
      onLine = () => events.includes(event) && resolve()
      onLine()
    })

  for (const [what, code, broken, mended] of [
    ['the table of rings is locked', 'database_unreachable', 'BEGIN; LOCK TABLE mesh_companion.ring', 'ROLLBACK'],
    [
      'the schema is gone',
      'database_incomplete',
      'ALTER SCHEMA mesh_companion RENAME TO elsewhere',
      'ALTER SCHEMA elsewhere RENAME TO mesh_companion',
    ],
    [
      'a function is gone',
      'database_incomplete',
      'ALTER FUNCTION mesh_companion.claim_acks RENAME TO another',
      'ALTER FUNCTION mesh_companion.another RENAME TO claim_acks',
    ],
  ] as const) {
    it(`finds out by itself, and says once, that ${what}, and that it is there again, and stores nothing for that`, async () => {
      await admin.query(broken)
      await logged('store-write-failed')
      expect(store.fault()).to.equal(code)
      if (code === 'database_incomplete') expect((await rejection(append(store, 'lost'))).code).to.equal(code)
      await store.probe()
      expect(store.fault()).to.equal(code)
      await admin.query(mended)
      await logged('store-write-recovered')
      expect(store.fault()).to.equal(undefined)
      expect(events.filter((event) => String(event).startsWith('store-'))).to.deep.equal([
        'store-write-failed',
        'store-write-recovered',
      ])
      expect((await append(store, 'kept'))[0]?.kind).to.equal('stored')
      expect(await held(store)).to.deep.equal(['kept'])
    })
  }
})
