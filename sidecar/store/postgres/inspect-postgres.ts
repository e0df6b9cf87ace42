import type { Clock } from '../../clock.ts'
import { type Log, SILENT_LOG } from '../../log.ts'
import type { Keyring } from '../../messages/keyring.ts'
import { connectPostgres, type PostgresSettings } from './database/connection.ts'
import { warnOfLoss } from './database/durability.ts'
import { inspectKeyring } from './keyring.ts'
import { inspectSchema } from './schema/migrations.ts'

/**
 * Checks whether the store can be opened, and changes nothing. Logs the warnings of opening it. Rejects with the same
 * `StoreError`, except `instance_taken`, or if `checkKeys` rejects.
 */
export async function inspectPostgres(
  settings: PostgresSettings,
  clock: Clock,
  log: Pick<Log, 'warn'>,
  checkKeys: (keyring: Keyring) => Promise<unknown> = async () => {},
): Promise<void> {
  const postgres = await connectPostgres(settings, clock, SILENT_LOG)
  try {
    await inspectSchema(postgres)
    await warnOfLoss(postgres, log)
    await checkKeys(inspectKeyring(postgres))
  } finally {
    await postgres.close()
  }
}
