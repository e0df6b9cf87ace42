import { StoreError } from '../../../errors.ts'
import { type OwnConnection, type Postgres, type Queries, WHOLE_TABLE_MS } from '../database/connection.ts'
import { SCHEMA } from '../database/session.ts'
import { demandRights } from './demand-rights.ts'
import { demandServer } from './demand-server.ts'
import { FUNCTION_TEXTS, TABLE_TEXTS } from './schema-files.ts'
import { BASELINE, STEPS } from './schema-version.ts'

/** The key of the advisory lock: an arbitrary number that all instances use. */
const LOCK = 0x6d637363

/**
 * Creates or upgrades the tables and replaces all functions, in one transaction. Other instances wait.
 *
 * Rejects with `database_too_old`, `database_outdated`, `database_newer`, `database_read_only` or `database_pooled`.
 */
export function migrate(postgres: Pick<Postgres, 'onOwnConnection'>, steps = STEPS): Promise<void> {
  return postgres.onOwnConnection(async (connection) => {
    await demandServer(connection, postgres)
    await connection.run('BEGIN')
    await connection.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
    const version = await demandVersion(connection, BASELINE + steps.length)
    if (version === 0) await createTables(connection)
    if (version < BASELINE + steps.length) await takeSteps(connection, steps, version || BASELINE)
    for (const text of FUNCTION_TEXTS) await connection.run(text)
    await connection.run('COMMIT')
  })
}

/** Rejects as {@link migrate} does if the schema cannot be upgraded to the newest version. Changes nothing. */
export function inspectSchema(postgres: Pick<Postgres, 'onOwnConnection'>): Promise<void> {
  return postgres.onOwnConnection(async (connection) => {
    await demandServer(connection, postgres)
    await demandRights(connection, [...TABLE_TEXTS, ...STEPS, ...FUNCTION_TEXTS])
    await demandVersion(connection, BASELINE + STEPS.length)
  })
}

async function createTables(connection: OwnConnection): Promise<void> {
  // Creates the schema only if it is missing. An administrator may have created it without granting this user the right
  // to create schemas.
  const [schema] = await connection.query<{ exists: boolean }>('SELECT to_regnamespace($1) IS NOT NULL AS exists', [
    SCHEMA,
  ])
  if (!schema?.exists) await connection.run(`CREATE SCHEMA ${SCHEMA}`)
  for (const text of TABLE_TEXTS) await connection.run(text)
}

async function takeSteps(connection: OwnConnection, steps: readonly string[], version: number): Promise<void> {
  for (const step of steps.slice(version - BASELINE)) await connection.run(step, WHOLE_TABLE_MS)
  await connection.query('UPDATE clock SET version = $1', [BASELINE + steps.length])
}

/** Returns the version of the schema; 0 if there are no tables. Rejects if this sidecar cannot use that version. */
async function demandVersion({ query }: Queries, newest: number): Promise<number> {
  const [clock] = await query<{ exists: boolean }>('SELECT to_regclass($1) IS NOT NULL AS exists', [`${SCHEMA}.clock`])
  if (!clock?.exists) return 0
  const [row] = await query<{ version: number }>('SELECT version FROM clock')
  const version = row?.version ?? 0
  if (version > newest) throw new StoreError('database_newer')
  if (version < BASELINE) {
    const cause = new Error(`its schema has version ${version}, and this sidecar needs ${BASELINE} or later`)
    throw new StoreError('database_outdated', { cause })
  }
  return version
}
