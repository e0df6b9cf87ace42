import { chmodSync, renameSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SharedStore, StoreSettings } from '../../../../sidecar/messages/store.ts'
import { openPostgresStore } from '../../../../sidecar/store/postgres/open-postgres.ts'
import { FakeClock } from '../../../support/fake-clock.ts'
import { recordedLog } from '../../../support/recorded-log.ts'
import type { ContractStores } from '../contract/stores.ts'
import { SETTINGS } from '../sqlite/temporary-stores.ts'
import { type OwnDatabase, ownDatabase } from './shared-server.ts'

/** Longest delay of an instance's timers. */
const TIMERS_MS = 600_000

/** Stores in a PostgreSQL database of the suite, with the test's clock. */
export interface PostgresStores
  extends ContractStores,
    Pick<OwnDatabase, 'address' | 'connect' | 'run' | 'hold' | 'waiting'> {
  open(settings?: Partial<StoreSettings>): Promise<SharedStore>
  readonly clock: FakeClock
}

/** Call inside a `describe`. */
export function postgresStores(): PostgresStores {
  const database = ownDatabase()
  const { log, lines } = recordedLog()
  let folder = ''
  let clock = new FakeClock()
  let lives = 0

  /** Empties the tables, and makes `now_ms()` read the test's clock from a file. */
  async function wipe(): Promise<void> {
    const clockOfTest = `CREATE OR REPLACE FUNCTION now_ms() RETURNS bigint LANGUAGE sql VOLATILE AS
      $$ SELECT pg_read_file('${join(folder, 'now')}')::bigint $$`
    await (await database.tables(undefined, clockOfTest)).close()
  }

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'mesh-companion-postgres-clock-'))
    chmodSync(folder, 0o755) // The server may run as another user.
  })
  after(() => rm(folder, { recursive: true, force: true }))
  beforeEach(async () => {
    clock = new SharedClock(join(folder, 'now'))
    await wipe()
  })

  return {
    get clock() {
      return clock
    },
    get address() {
      return database.address
    },
    connect: database.connect,
    run: database.run,
    hold: database.hold,
    waiting: database.waiting,
    lines,
    now: () => clock.now(),
    async shift(ms) {
      // For longer steps, only the database's time matters. Advancing the timers would cost SQL statements for each
      // second.
      if (ms > 0 && ms <= TIMERS_MS) await clock.advance(ms)
      else clock.set(clock.now() + ms)
    },
    wipe,
    async open(changes = {}) {
      // Each store has its own instance name. After a clock step, a pending statement of an earlier store may run after
      // that store has signed off, and occupy its name.
      lives += 1
      const settings = { ...SETTINGS, ...database.at(), instance: `life ${lives}`, ...changes }
      const store = await openPostgresStore(settings, clock, log)
      database.closing.push(store.close)
      return store
    },
  }
}

/** A fake clock that a database uses too. */
class SharedClock extends FakeClock {
  readonly #file: string

  constructor(file: string) {
    super()
    this.#file = file
    this.#tell(this.now())
  }

  override set(ms: number): void {
    super.set(ms)
    this.#tell(this.now())
  }

  override async advance(ms: number): Promise<void> {
    // Set the database's clock first, because it may answer the timers' statements only after the advance.
    this.#tell(this.now() + ms)
    await super.advance(ms)
  }

  #tell(ms: number): void {
    // Renames a complete file, so that the database never reads a half-written one.
    writeFileSync(`${this.#file}.new`, String(ms))
    renameSync(`${this.#file}.new`, this.#file)
  }
}
