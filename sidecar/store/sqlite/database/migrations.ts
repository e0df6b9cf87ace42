import { StoreError } from '../../../errors.ts'
import { readSql } from '../../read-sql.ts'
import type { Connection } from './connection.ts'

/** The value of `PRAGMA application_id` that marks a SQLite file as the sidecar's: "mcsc" in ASCII. */
const APPLICATION_ID = 0x6d637363

/** The version of the schema that the files in `tables/` create. Older versions were never published. */
export const BASELINE = 13

/**
 * The upgrade steps after {@link BASELINE}: the first upgrades version 13 to version 14, and so on. Never change a
 * published step.
 */
const STEPS: readonly string[] = []

/** The newest version of the schema. */
export const NEWEST = BASELINE + STEPS.length

const TABLES = ['state', 'station', 'device', 'avatar', 'message', 'ack']
  .map((name) => readSql(new URL(`./tables/${name}.sql`, import.meta.url)))
  .join('')

/** Returns the schema version of the file; 0 if the file is new. Rejects with `database_foreign`. Changes nothing. */
export async function fileVersion(connection: Connection): Promise<number> {
  const [file] = await connection.all<{ version: number; application: number; tables: number }>(
    `SELECT user_version AS version, application_id AS application, (SELECT count(*) FROM sqlite_schema) AS tables
     FROM pragma_user_version, pragma_application_id`,
  )
  if (!file) throw new StoreError('store_fault')
  const isNew = file.version === 0 && file.application === 0 && file.tables === 0
  if (!isNew && file.application !== APPLICATION_ID) throw new StoreError('database_foreign')
  return file.version
}

/**
 * Returns the schema version of a file; 0 if it is new. Rejects with `database_foreign`, `database_outdated` or
 * `database_newer`.
 */
export async function demandVersion(connection: Connection, newest = NEWEST): Promise<number> {
  const version = await fileVersion(connection)
  if (version > newest) throw new StoreError('database_newer')
  if (version === 0 || version >= BASELINE) return version
  const cause = new Error(`its schema has version ${version}, and this sidecar needs ${BASELINE} or later`)
  throw new StoreError('database_outdated', { cause })
}

/**
 * Upgrades the file from `version`, in one transaction per step. Foreign keys must be off, or a step that replaces a
 * table would delete rows that refer to it.
 */
export async function migrate(connection: Connection, version: number, steps = STEPS): Promise<void> {
  if (version === 0) await takeStep(connection, TABLES, BASELINE)
  const done = Math.max(0, version - BASELINE)
  for (const [index, step] of steps.entries()) {
    if (index >= done) await takeStep(connection, step, BASELINE + index + 1)
  }
}

async function takeStep(connection: Connection, step: string, version: number): Promise<void> {
  try {
    await connection.exec(
      `BEGIN IMMEDIATE; ${step}; PRAGMA application_id = ${APPLICATION_ID}; PRAGMA user_version = ${version}; COMMIT;`,
    )
  } catch (error) {
    await connection.exec('ROLLBACK').catch(() => undefined) // SQLite may have rolled back already
    throw error
  }
}
