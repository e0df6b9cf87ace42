import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { connectPostgres, type PostgresSettings } from './database/connection.ts'
import { warnOfLoss } from './database/durability.ts'
import { inspectSchema } from './schema/migrations.ts'

const SILENT: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** What opening the store would find, and warn of, without making or upgrading anything. Rejects with the same `StoreError`, `instance_taken` excepted. */
export async function inspectPostgres(settings: PostgresSettings, clock: Clock, log: Pick<Log, 'warn'>): Promise<void> {
  const postgres = await connectPostgres(settings, clock, SILENT)
  try {
    await inspectSchema(postgres)
    await warnOfLoss(postgres, log)
  } finally {
    await postgres.close()
  }
}
