import { readFile } from 'node:fs/promises'
import { runAt } from '../../sidecar/store/postgres/shared-server.ts'
import { type Postgres, startPostgres } from '../../support/postgres.ts'

/** A PostgreSQL server and a standby that replicates it. */
export interface PrimaryAndStandby {
  readonly primary: Postgres
  readonly standby: Postgres
  stop(): Promise<void>
}

const NAMED = 'standby'
/** Longest wait, on a busy machine. */
const LIMIT_MS = 60_000
/** Pause between two checks of a condition. */
const EVERY_MS = 15

/** Starts both. If `synchronous` is set, the primary confirms a commit only once the standby has it. */
export async function startPrimaryAndStandby(synchronous: boolean): Promise<PrimaryAndStandby> {
  const primary = await startPostgres()
  // The standby starts from the files of the killed primary, as if from the disk of a crashed machine.
  await primary.kill()
  const { port } = new URL(primary.address)
  const follows = `primary_conninfo=host=127.0.0.1 port=${port} user=mesh application_name=${NAMED}`
  const standby = await startPostgres({ copyOf: primary.data, standby: true, settings: [follows] })
  await primary.startAgain()
  const pair = {
    primary,
    standby,
    async stop() {
      for (const server of [standby, primary]) {
        await freeze(server, 'SIGCONT')
        await server.stop()
      }
    },
  }
  await following(pair)
  if (synchronous) await waitFor(primary, NAMED)
  return pair
}

/** Makes the server confirm a commit only once the standby `name` has it. With an empty name, it confirms at once. */
export async function waitFor({ address }: Postgres, name: string): Promise<void> {
  await runAt(address, `ALTER SYSTEM SET synchronous_standby_names = '${name}'`)
  await runAt(address, 'SELECT pg_reload_conf()')
  await until(
    async () => (await runAt(address, 'SHOW synchronous_standby_names'))[0]?.synchronous_standby_names === name,
  )
}

/** Resolves once the standby follows. */
export async function following({ primary }: Pick<PrimaryAndStandby, 'primary'>): Promise<void> {
  await until(
    async () => (await runAt(primary.address, "SELECT FROM pg_stat_replication WHERE state = 'streaming'")).length > 0,
  )
}

/** Makes a standby the primary. Resolves once it accepts writes. */
export async function promote({ address }: Postgres): Promise<void> {
  // Does not let `pg_promote` wait: PostgreSQL may cancel a waiting statement that conflicts with replayed changes.
  await runAt(address, 'SELECT pg_promote(false)')
  await until(async () => (await runAt(address, 'SELECT pg_is_in_recovery() AS standby'))[0]?.standby === false)
}

/** Suspends or resumes all processes of a server. */
export async function freeze(server: Postgres, signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  const pid = server.pid()
  if (pid === undefined) return
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  for (const processId of [pid, ...children.trim().split(' ').filter(Boolean).map(Number)]) signalTo(processId, signal)
}

/** Sends a signal to a process, unless the process has just ended. */
function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** Checks the condition repeatedly until it holds. Throws after a minute. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + LIMIT_MS
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`Waited ${LIMIT_MS} ms in vain for this: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
}
