import type { Log } from '../../../log.ts'
import type { Queries } from './connection.ts'

// Who may not read about standbys sees that there are some, and not of which kind: that of the setting any role may
// read.
const SETTINGS = `
  SELECT current_setting('synchronous_commit') IN ('off', 'local') AS local,
    current_setting('synchronous_standby_names') <> '' AS sync, count(*) AS standbys
  FROM pg_stat_replication`

/** Says so where messages that were acknowledged can be lost with the server. */
export async function warnOfLoss({ query }: Queries, log: Pick<Log, 'warn'>): Promise<void> {
  const [found] = await query<{ local: boolean; sync: boolean; standbys: number }>(SETTINGS)
  if (!found || (!found.local && (found.sync || found.standbys === 0))) return
  log.warn(
    'database-may-lose-messages',
    'PostgreSQL confirms what no synchronous standby has: when a standby takes over, or the server crashes, acknowledged messages can be lost. Set synchronous_standby_names, and synchronous_commit to on.',
    { standbys: found.standbys, synchronous: found.sync },
  )
}
