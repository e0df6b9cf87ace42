import type { Clock } from '../clock.ts'
import { timeLimit } from '../host/time-limit.ts'
import type { MeshDatabase, MeshDeviceGroup, MeshUser, MeshUserGroup } from './server.ts'

const LIMIT_MS = 10_000
/**
 * Time limit of a write, in milliseconds. On a slow disk, SQLite takes some 20 ms per write, and a first login makes
 * about 50. So a hundred users can sign in at the same time.
 */
export const WRITE_LIMIT_MS = 30_000

/**
 * Makes one call of MeshCentral's database.
 *
 * @param task completes the error "The database could not …"
 * @param run passes the callback, whose first argument is the error
 * @throws Error if the database fails or does not answer in `limitMs` (default 10 s)
 */
export function askDatabase<Answer = void>(
  clock: Clock,
  task: string,
  run: (done: (error?: unknown, answer?: Answer) => void) => void,
  limitMs = LIMIT_MS,
): Promise<Answer | undefined> {
  const answer = new Promise<Answer | undefined>((resolve, reject) => {
    run((error, result) => (error ? reject(error) : resolve(result)))
  })
  return timeLimit(clock, limitMs)(answer, 'The database did not answer in time.').catch((cause: unknown) => {
    throw new Error(`The database could not ${task}.`, { cause })
  })
}

/** Saves a record from MeshCentral's memory to its database. The subscriptions of open pages are not saved. */
export async function saveRecord(
  db: MeshDatabase,
  clock: Clock,
  live: MeshUser | MeshUserGroup | MeshDeviceGroup,
): Promise<void> {
  const { subscriptions: _subscriptions, ...record } = { subscriptions: undefined, ...live }
  await askDatabase(clock, 'write an account or a group', (done) => db.Set(record, done), WRITE_LIMIT_MS)
}
