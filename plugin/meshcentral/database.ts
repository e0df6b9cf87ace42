import type { Clock } from '../clock.ts'
import { timeLimit } from '../host/time-limit.ts'
import type { MeshDatabase, MeshDeviceGroup, MeshUser, MeshUserGroup } from './server.ts'

const LIMIT_MS = 10_000
/**
 * Of a write. SQLite with its own settings takes some 20 ms for each on a slow disk, and a first login makes about 50,
 * most of them events that MeshCentral keeps: who comes in with a hundred others waits, and is not refused.
 */
export const WRITE_LIMIT_MS = 30_000

/**
 * One call of MeshCentral's database, which answers by a callback, as a promise.
 *
 * @param what it was to do, for the error
 * @param run is given the callback, with the error first
 * @throws Error when it reports one, throws, or has not answered after that time, 10 s where none is given
 */
export function askDatabase<Answer = void>(
  clock: Clock,
  what: string,
  run: (done: (error?: unknown, answer?: Answer) => void) => void,
  limitMs = LIMIT_MS,
): Promise<Answer | undefined> {
  const answer = new Promise<Answer | undefined>((resolve, reject) => {
    run((error, found) => (error ? reject(error) : resolve(found)))
  })
  return timeLimit(clock, limitMs)(answer, 'It did not answer in time.').catch((cause: unknown) => {
    throw new Error(`The database could not ${what}.`, { cause })
  })
}

/**
 * Settles once MeshCentral's database has it as it is now. What a user's open page listens to stands in the live record
 * only.
 */
export async function saveRecord(
  db: MeshDatabase,
  clock: Clock,
  live: MeshUser | MeshUserGroup | MeshDeviceGroup,
): Promise<void> {
  const { subscriptions: _subscriptions, ...record } = { subscriptions: undefined, ...live }
  await askDatabase(clock, 'write an account or a group', (done) => db.Set(record, done), WRITE_LIMIT_MS)
}
