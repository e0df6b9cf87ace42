import type { Log } from '../../../log.ts'
import type { Queries } from './connection.ts'

// Who may not read about standbys sees that there are some, and not of which kind: then nothing is known.
const SETTINGS = `
  SELECT current_setting('synchronous_commit') IN ('off', 'local') AS local,
    count(*) FILTER (WHERE sync_state = 'async') AS async,
    count(*) FILTER (WHERE sync_state IN ('sync', 'quorum')) AS sync
  FROM pg_stat_replication`

/** Says so where messages that were acknowledged can be lost with the server. */
export async function warnOfLoss({ query }: Queries, log: Pick<Log, 'warn'>): Promise<void> {
  const [found] = await query<{ local: boolean; async: number; sync: number }>(SETTINGS)
  if (!found || (!found.local && (found.sync > 0 || found.async === 0))) return
  log.warn(
    'database-may-lose-messages',
    'PostgreSQL confirms what no synchronous standby has: when a standby takes over, or the server crashes, acknowledged messages can be lost. Set synchronous_standby_names, and synchronous_commit to on.',
    { synchronousStandbys: found.sync, asynchronousStandbys: found.async },
  )
}
