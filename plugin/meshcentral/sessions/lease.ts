import { randomBytes } from 'node:crypto'
import type { Clock } from '../../clock.ts'
import { isJsonObject } from '../../config/json/json-object.ts'
import { LEASE_MS, type Sessions } from '../../host/port.ts'
import { askDatabase } from '../database.ts'
import type { MeshDatabase } from '../server.ts'

const TYPE = 'meshcompanionlease'
const PREFIX = `${TYPE}/`

export interface LeaseTimes {
  /** How long a lease lasts unless it is released, in milliseconds. */
  readonly leaseMs: number
  /**
   * Milliseconds that a server waits after writing its name into a free lease. Competitors may overwrite the name
   * meanwhile; then the server reads which name remains.
   */
  readonly settleMs: number
}

const SESSION_LEASE: LeaseTimes = { leaseMs: LEASE_MS, settleMs: 250 }

/**
 * Grants a lease to one of several servers at a time, with a record in their shared database. MeshCentral's databases
 * have no compare-and-set. So a server that finds the lease free writes its name, waits, and holds the lease if its
 * name is still there. Source: M. Fischer's algorithm, in L. Lamport, A Fast Mutual Exclusion Algorithm, 1987.
 */
export function leaseInDatabase(
  db: MeshDatabase,
  clock: Clock,
  { leaseMs, settleMs } = SESSION_LEASE,
): NonNullable<Sessions['lease']> {
  async function holderOf(id: string): Promise<unknown> {
    const records = await askDatabase<unknown>(clock, 'read a lease', (done) => db.Get(PREFIX + id, done))
    const record: unknown = Array.isArray(records) ? records[0] : undefined
    if (!isJsonObject(record) || typeof record.until !== 'number') return undefined
    const { by: holder, until } = record
    // Ignore a lease that ends too far in the future, because a server with a wrong clock wrote it.
    return until > clock.now() && until <= clock.now() + 2 * leaseMs ? holder : undefined
  }

  return async (id) => {
    const beganAt = clock.elapsed()
    if ((await holderOf(id)) !== undefined) return null
    const holder = randomBytes(16).toString('base64url')
    const record = { type: TYPE, _id: PREFIX + id, domain: '', by: holder, until: clock.now() + leaseMs }
    await askDatabase(clock, 'write a lease', (done) => db.Set(record, done))
    // After a slow write, a competitor may already hold the lease.
    if (clock.elapsed() - beganAt >= settleMs) return null
    await new Promise<void>((resolve) => clock.after(settleMs, resolve))
    if ((await holderOf(id)) !== holder) return null
    return async () => {
      // Once the lease has expired, another server may hold it.
      if (clock.elapsed() - beganAt >= leaseMs) return
      await askDatabase(clock, 'remove a lease', (done) => db.Remove(PREFIX + id, done))
    }
  }
}
