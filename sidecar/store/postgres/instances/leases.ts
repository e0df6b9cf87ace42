import type { Clock } from '../../../clock.ts'
import { LEASE_MS, type Lease, type Leases } from '../../../messages/leases.ts'
import type { Postgres } from '../database/connection.ts'
import type { OwnInstance } from './instances.ts'

const HOLD = 'SELECT hold_leases($1, $2, $3, $4, $5) AS name'
const RELEASE = 'DELETE FROM lease WHERE name = ANY ($1) AND owner = $2'
const LIST = `
  SELECT name, instance, note, owner = $1 AS mine FROM lease
  WHERE lease_until BETWEEN now_ms() AND now_ms() + ${LEASE_MS} ORDER BY name`

/** Opens the leases in the shared table. This process holds leases as `instance`. */
export function openLeases(
  database: Pick<Postgres, 'query' | 'read'>,
  instance: Pick<OwnInstance, 'name' | 'owner'>,
  clock: Pick<Clock, 'elapsed'>,
): Leases {
  const contact = watchContact()

  async function noted<Row>(rows: Promise<readonly Row[]>): Promise<readonly Row[]> {
    await rows
    contact.answered(clock.elapsed())
    return rows
  }

  return {
    async hold(names, note = '') {
      if (names.length === 0) return new Set()
      const values = [names, instance.name, instance.owner, note, contact.lasts(clock.elapsed())]
      const held = await noted(database.query<{ name: string }>(HOLD, values))
      return new Set(held.map(({ name }) => name))
    },
    release: async (names) => void (await noted(database.query(RELEASE, [names, instance.owner]))),
    list: () => noted(database.read<Lease>(LIST, [instance.owner])),
  }
}

/**
 * Limit of the time between two answers of the database, in milliseconds. After a longer gap, leases may have expired
 * before their holders could renew them.
 */
const BREAK_MS = LEASE_MS / 2

/**
 * Tracks whether this process has been in contact with the database long enough to take over expired leases. Times are
 * elapsed milliseconds.
 */
interface Contact {
  /** Records that the database answered at `now`. */
  answered(now: number): void
  /**
   * Returns whether the database has answered for {@link LEASE_MS} without a break. Then every live instance has
   * renewed its leases, so an expired one has no holder.
   */
  lasts(now: number): boolean
}

function watchContact(): Contact {
  let since = Number.NaN
  let last = Number.NaN
  return {
    answered(now) {
      if (!(now - last <= BREAK_MS)) since = now
      last = now
    },
    lasts: (now) => now - last <= BREAK_MS && now - since >= LEASE_MS,
  }
}
