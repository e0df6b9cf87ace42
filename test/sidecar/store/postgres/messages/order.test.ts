import { expect } from 'chai'
import { createLog } from '../../../../../sidecar/log.ts'
import { openPostgresStore } from '../../../../../sidecar/store/postgres/open-postgres.ts'
import { bringsEachOnce } from '../../contract/cursors.contract.ts'
import { newer, SETTINGS } from '../../sqlite/temporary-stores.ts'
import { hastened, ownDatabase } from '../shared-server.ts'

/** Keeps the transaction of each batch open for up to 8 ms, behind its inserts: the server does that last. */
const HELD_OPEN = `
  CREATE FUNCTION hold_open() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN PERFORM pg_sleep(random() * 0.008); RETURN NULL; END $$;
  CREATE CONSTRAINT TRIGGER held_open AFTER UPDATE ON clock DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION hold_open()`
const KILL = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity
  WHERE datname = current_database() AND pid <> pg_backend_pid() AND state = 'active' AND query LIKE '%append(%'`

describe('The order of what several instances store', () => {
  const own = ownDatabase()
  let lives = 0
  let syncs = 0
  let killed = 0

  it('has each reader get each message once and in order, whoever is killed in between', async () => {
    const stores = {
      async wipe() {
        await (await own.tables()).close()
        await own.run(HELD_OPEN)
      },
      open(changes = {}) {
        lives += 1
        const settings = { ...SETTINGS, ...own.at(), instance: `life ${lives}`, ...changes }
        return openPostgresStore(settings, hastened(20), createLog('silent'))
      },
      now: () => Date.now(),
      shift: async () => undefined,
      lines: [],
    }
    await bringsEachOnce(stores, {
      runs: 6,
      instances: 3,
      asking(store) {
        return async (...asked) => {
          syncs += 1
          const killing = syncs % 4 === 0 ? own.run(KILL) : []
          const found = await newer(store, ...asked)
          killed += (await killing).length
          return found
        }
      },
    })
    expect(killed).to.be.above(0)
  }).timeout(600_000)
})
