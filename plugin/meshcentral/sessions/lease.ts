import { randomBytes } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import { isJsonObject } from '../../config/json/json-object.ts'
import { LEASE_MS, type Sessions } from '../../host/port.ts'
import { askDatabase } from '../database.ts'
import type { MeshDatabase } from '../server.ts'

const TYPE = 'meshcompanionlease'
const PREFIX = `${TYPE}/`
/** More than a database takes from the answer that it is free to the record that says whose it is. */
const SETTLE_MS = 250

/**
 * What one of several servers may do at a time, by a record in the database that they share. MeshCentral's databases
 * read and write whole records and compare nothing, so whoever finds it free writes its name there, waits until whoever
 * else found it free has written too, and has it where its own name still stands. Who was slower than that in writing
 * does not have it, whatever stands there. Source: M. Fischer's algorithm, in L. Lamport, A Fast Mutual Exclusion
 * Algorithm, 1987.
 */
export function leaseInDatabase(db: MeshDatabase, clock: Clock): NonNullable<Sessions['lease']> {
  async function holderOf(id: string): Promise<unknown> {
    const found = await askDatabase<unknown>(clock, 'read who renews a session', (done) => db.Get(PREFIX + id, done))
    const record: unknown = Array.isArray(found) ? found[0] : undefined
    if (!isJsonObject(record) || typeof record.until !== 'number') return undefined
    const { by, until } = record
    // Later than it can be: by a clock that was wrong.
    return until > clock.now() && until <= clock.now() + 2 * LEASE_MS ? by : undefined
  }

  return async (id) => {
    const begun = clock.elapsed()
    if ((await holderOf(id)) !== undefined) return null
    const by = randomBytes(16).toString('base64url')
    const record = { type: TYPE, _id: PREFIX + id, domain: '', by, until: clock.now() + LEASE_MS }
    await askDatabase(clock, 'write who renews a session', (done) => db.Set(record, done))
    if (clock.elapsed() - begun >= SETTLE_MS) return null
    await new Promise<void>((resolve) => clock.after(SETTLE_MS, resolve))
    if ((await holderOf(id)) !== by) return null
    return async () => {
      // Once it has run out it may be somebody else's.
      if (clock.elapsed() - begun >= LEASE_MS) return
      await askDatabase(clock, 'write that nobody renews a session', (done) => db.Remove(PREFIX + id, done))
    }
  }
}
