import { expect } from 'chai'
import type { Store } from '../../../../sidecar/messages/store.ts'
import { openPostgresStore } from '../../../../sidecar/store/postgres/open-postgres.ts'
import { recordedLog } from '../../../support/recorded-log.ts'
import { append, held, register, rejection, SETTINGS } from '../sqlite/temporary-stores.ts'
import { hastened, ownDatabase } from './shared-server.ts'

describe('The readiness of a store in PostgreSQL', () => {
  const database = ownDatabase()
  const { log, logged, shown } = recordedLog()
  let store: Store

  beforeEach(async () => {
    await database.run('DROP SCHEMA IF EXISTS mesh_companion CASCADE')
    // Shorten the pauses between the store's probes. The database server's time stays real.
    store = await openPostgresStore({ ...SETTINGS, ...database.at() }, hastened(50), log)
    database.closing.push(store.close)
    await register(store, 'N0CALL')
  })

  for (const [name, code, broken, mended] of [
    ['the table of rings is locked', 'database_unreachable', 'BEGIN; LOCK TABLE mesh_companion.ring', ''],
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
    // Shows: sidecar O1.1.
    it(`reports once that ${name}, even without a write, and logs the recovery`, async () => {
      const end = await database.hold(broken)
      await logged('store-write-failed')
      expect(store.fault()).to.equal(code)
      if (code === 'database_incomplete') expect((await rejection(append(store, 'lost'))).code).to.equal(code)
      await store.probe()
      expect(store.fault()).to.equal(code)
      await end()
      await database.run(mended)
      await logged('store-write-recovered')
      expect(store.fault()).to.equal(undefined)
      expect(shown('event').filter((event) => String(event).startsWith('store-'))).to.deep.equal([
        'store-write-failed',
        'store-write-recovered',
      ])
      expect((await append(store, 'kept'))[0]?.kind).to.equal('stored')
      expect(await held(store)).to.deep.equal(['kept'])
    })
  }
})
