import { systemClock } from '../../../../../sidecar/clock.ts'
import type { Postgres as Database } from '../../../../../sidecar/store/postgres/database/connection.ts'
import { migrate } from '../../../../../sidecar/store/postgres/schema/migrations.ts'
import { freshDatabase, ownDatabase } from '../shared-server.ts'

/** Databases with tables and functions on the server that all tests share. */
export interface MessageTables {
  /** Connections to a new database, with rings of so many places. They are closed after the test. */
  open(perStation: number): Promise<Database & { readonly address: string }>
  /** More connections to one, as another instance has. */
  connect(address: string): Promise<Database>
}

/** What {@link openAppends} is opened with, beside its database. */
export const APPENDS = {
  history: { perStation: 50, duplicateMinutes: 120, duplicateSecondsUnnumbered: 30 },
  ack: { minIntervalMs: 31_000, maxPerSenderPerMinute: 10 },
  coalesceMs: 2000,
  clock: systemClock,
  onStored: () => undefined,
}

/** Call inside a `describe`. */
export function messageTables(): MessageTables {
  const own = ownDatabase()
  const connect = (address: string) => own.connect(undefined, undefined, address)
  return {
    connect,
    async open(perStation) {
      const address = await freshDatabase()
      const database = await connect(address)
      await migrate(database)
      await database.query('SELECT fit_rings($1)', [perStation])
      return { ...database, address }
    },
  }
}

/** Registers stations, as the registry does. */
export async function registerIn(database: Database, keys: readonly string[], platform = 'android'): Promise<void> {
  for (const key of keys) {
    const values = [key, platform, `token-of-${key}`, true, null, null, null, 100_000, '192.0.2.1', 100_000]
    await database.query('SELECT FROM register_station($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)', values)
  }
}
