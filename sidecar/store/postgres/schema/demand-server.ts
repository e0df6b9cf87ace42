import { StoreError } from '../../../errors.ts'
import type { OwnConnection, Postgres, Queries } from '../database/connection.ts'

const OLDEST_SERVER = 150_000
const ROUNDS = 5

/**
 * Rejects where `connection`, one of those of `postgres`, does not lead to what the store can use: with
 * `database_too_old`, `database_read_only` or `database_pooled`. Changes nothing.
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
  await postgres.onOwnConnection((other) => demandSessions(connection, other))
}

/**
 * Each has its session for itself, and keeps it. A pooler that gives statements to any session gives these two one in
 * turns, or another one each time: then what is set, prepared or listened to is gone with the next statement.
 */
async function demandSessions(one: Queries, other: Queries): Promise<void> {
  const pids = []
  for (let round = 0; round < ROUNDS; round += 1) pids.push([await pidOf(one), await pidOf(other)])
  const [own, others] = pids[0] ?? []
  if (own === others || new Set(pids.map(String)).size > 1) throw new StoreError('database_pooled')
}

async function pidOf({ query }: Queries): Promise<number | undefined> {
  const [session] = await query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  return session?.pid
}
