import type { Clock } from '../clock.ts'
import { timeLimit } from '../host/time-limit.ts'
import type { MeshDatabase, MeshDeviceGroup, MeshUser, MeshUserGroup } from './server.ts'

const LIMIT_MS = 10_000
/**
 * Time limit of a write, in milliseconds. With MeshCentral's settings, SQLite takes some 20 ms per write on a slow
 * disk. A first login makes about 50 writes, most of them events. With this limit, a hundred users can sign in at the
 * same time: they wait, and none is refused.
 */
export const WRITE_LIMIT_MS = 30_000

/**
 * Makes one call of MeshCentral's database, which answers by a callback. Rejects if the database does not answer within
 * `limitMs` (default 10 s).
 *
 * @param task what the call does; completes the error message "The database could not …"
 * @param run makes the call and passes it the callback. The callback's first argument is the error
 * @throws Error if the database reports an error, throws or times out
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
