import { readFile } from 'node:fs/promises'
import { runAt } from '../../sidecar/store/postgres/shared-server.ts'
import { type Postgres, startPostgres } from '../../support/postgres.ts'

/** Two servers; one follows the other. */
export interface PrimaryAndStandby {
  readonly primary: Postgres
  readonly standby: Postgres
  stop(): Promise<void>
}

const NAMED = 'standby'
/** Longest wait, on a busy machine. */
const LIMIT_MS = 60_000
/** Pause between two questions. */
const EVERY_MS = 15

/** The primary answers once the standby has what is committed, where that is `synchronous`. */
export async function startPrimaryAndStandby(synchronous: boolean): Promise<PrimaryAndStandby> {
  const primary = await startPostgres()
  // A copy of its data stands for the disk of a machine that died.
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

/** Has it answer once the standby of that name has what is committed; with none, at once. */
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

/** Resolves once it takes writes. */
export async function promote({ address }: Postgres): Promise<void> {
  // A statement that waits for it is broken off at times, where what is replayed meanwhile takes away what it might
  // see.
  await runAt(address, 'SELECT pg_promote(false)')
  await until(async () => (await runAt(address, 'SELECT pg_is_in_recovery() AS standby'))[0]?.standby === false)
}

/** Has all processes of a server stand still, or go on. */
export async function freeze(server: Postgres, signal: 'SIGSTOP' | 'SIGCONT'): Promise<void> {
  const pid = server.pid()
  if (pid === undefined) return
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => '')
  for (const processId of [pid, ...children.trim().split(' ').filter(Boolean).map(Number)]) signalTo(processId, signal)
}

/** One that has just ended needs none. */
function signalTo(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error
  }
}

/** Asks again and again until the condition holds. */
export async function until(condition: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + LIMIT_MS
  while (!(await condition())) {
    if (performance.now() > end) throw new Error(`Waited ${LIMIT_MS} ms in vain for this: ${condition}`)
    await new Promise((resolve) => setTimeout(resolve, EVERY_MS))
  }
}
