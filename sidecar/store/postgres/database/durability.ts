import type { Log } from '../../../log.ts'
import type { Queries } from './connection.ts'

// All users can read `synchronous_standby_names`. Only privileged ones see which standbys are synchronous.
const SETTINGS = `
  SELECT current_setting('synchronous_commit') IN ('off', 'local') AS local,
    current_setting('synchronous_standby_names') <> '' AS sync, count(*) AS standbys
  FROM pg_stat_replication`

/** Warns if acknowledged messages can be lost when the server crashes or a standby takes over. */
export async function warnOfLoss({ query }: Queries, log: Pick<Log, 'warn'>): Promise<void> {
  const [row] = await query<{ local: boolean; sync: boolean; standbys: number }>(SETTINGS)
  if (!row || (!row.local && (row.sync || row.standbys === 0))) return
  log.warn(
    'database-may-lose-messages',
    'PostgreSQL confirms writes that no synchronous standby has. If a standby takes over or the server crashes, acknowledged messages can be lost. Set synchronous_standby_names, and set synchronous_commit to on.',
    { standbys: row.standbys, synchronous: row.sync },
  )
}
