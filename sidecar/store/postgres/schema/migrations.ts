import { StoreError } from '../../../errors.ts'
import { type OwnConnection, type Postgres, type Queries, WHOLE_TABLE_MS } from '../database/connection.ts'
import { SCHEMA } from '../database/session.ts'
import { APPEND, CLAIM_ACKS, TRY_TO_STORE } from './append-function.ts'
import { demandRights } from './demand-rights.ts'
import { demandServer } from './demand-server.ts'
import { INSTANCE_FUNCTIONS } from './instance-functions.ts'
import { CLAIM_PUSHES, PUT_OFF_PUSHES, SETTLE_PUSHES } from './push-functions.ts'
import { READ_NEWER } from './read-functions.ts'
import { REGISTRY_FUNCTIONS } from './registry-functions.ts'
import { FIT_RINGS, MAKE_RINGS } from './ring-functions.ts'
import { MIGRATIONS } from './schema.ts'

/** Any number; all instances take the same one. */
const LOCK = 0x6d637363

/**
 * Brings the schema to the newest version, and the functions to those of this one, in one transaction: one of several
 * instances that start at once does it, the others wait. Rejects with `database_too_old`, `database_newer`,
 * `database_read_only` or `database_pooled`, and has then changed nothing.
 */
export function migrate(postgres: Pick<Postgres, 'onOwnConnection'>, steps = MIGRATIONS): Promise<void> {
  return postgres.onOwnConnection(async (connection) => {
    await demandServer(connection, postgres)
    await connection.run('BEGIN')
    await connection.query('SELECT pg_advisory_xact_lock($1)', [LOCK])
    await takeSteps(connection, steps)
    for (const text of FUNCTIONS) await connection.run(text)
    await connection.run('COMMIT')
  })
}

/** Rejects as {@link migrate} does where the schema cannot be brought to the newest version, and changes nothing. */
export function inspectSchema(postgres: Pick<Postgres, 'onOwnConnection'>): Promise<void> {
  return postgres.onOwnConnection(async (connection) => {
    await demandServer(connection, postgres)
    await demandRights(connection, [...MIGRATIONS, ...FUNCTIONS])
    if ((await versionOf(connection)) > MIGRATIONS.length) throw new StoreError('database_newer')
  })
}

async function takeSteps(connection: OwnConnection, steps: readonly string[]): Promise<void> {
  const version = await versionOf(connection)
  if (version > steps.length) throw new StoreError('database_newer')
  if (version === steps.length) return
  // Asked first: whoever has made the schema may have given this user no right to make one.
  const [schema] = await connection.query<{ there: boolean }>('SELECT to_regnamespace($1) IS NOT NULL AS there', [
    SCHEMA,
  ])
  if (!schema?.there) await connection.run(`CREATE SCHEMA ${SCHEMA}`)
  for (const step of steps.slice(version)) await connection.run(step, WHOLE_TABLE_MS)
  await connection.query('UPDATE clock SET version = $1', [steps.length])
}

/** 0 where there are no tables yet. */
async function versionOf({ query }: Queries): Promise<number> {
  const [clock] = await query<{ there: boolean }>('SELECT to_regclass($1) IS NOT NULL AS there', [`${SCHEMA}.clock`])
  if (!clock?.there) return 0
  const [found] = await query<{ version: number }>('SELECT version FROM clock')
  return found?.version ?? 0
}

/**
 * The functions in SQL, put in place anew at each start, after the tables. One that takes other arguments, or gives
 * other columns, than a released one is another function and needs another name: instances of the version before go on
 * to call theirs.
 */
const FUNCTIONS: readonly string[] = [
  ...REGISTRY_FUNCTIONS,
  ...INSTANCE_FUNCTIONS,
  CLAIM_ACKS,
  MAKE_RINGS,
  APPEND,
  TRY_TO_STORE,
  READ_NEWER,
  CLAIM_PUSHES,
  SETTLE_PUSHES,
  PUT_OFF_PUSHES,
  FIT_RINGS,
]
