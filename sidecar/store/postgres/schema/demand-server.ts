import { StoreError } from '../../../errors.ts'
import type { OwnConnection, Postgres, Queries } from '../database/connection.ts'

const OLDEST_SERVER = 150_000
const ROUNDS = 5

/**
 * Checks the server of `connection`, which must belong to `postgres`. Rejects with `database_too_old`,
 * `database_read_only` or `database_pooled`.
 */
export async function demandServer(
  connection: OwnConnection,
  postgres: Pick<Postgres, 'onOwnConnection'>,
): Promise<void> {
  const [server] = await connection.query<{ version: number; writable: boolean }>(
    "SELECT current_setting('server_version_num')::int AS version, current_setting('transaction_read_only') = 'off' AS writable",
  )
  if (!server || server.version < OLDEST_SERVER) throw new StoreError('database_too_old')
  if (!server.writable) throw new StoreError('database_read_only')
  await postgres.onOwnConnection((second) => demandSessions(connection, second))
}

/**
 * Checks that each connection keeps a session of its own. Behind some poolers, settings, prepared statements and LISTEN
 * would be lost.
 */
async function demandSessions(first: Queries, second: Queries): Promise<void> {
  const pids = []
  for (let round = 0; round < ROUNDS; round += 1) pids.push([await pidOf(first), await pidOf(second)])
  const [firstPid, secondPid] = pids[0] ?? []
  if (firstPid === secondPid || new Set(pids.map(String)).size > 1) throw new StoreError('database_pooled')
}

async function pidOf({ query }: Queries): Promise<number | undefined> {
  const [session] = await query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return session?.pid
}
