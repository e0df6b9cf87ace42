import { systemClock } from '../../../../../sidecar/clock.ts'
import type { Postgres } from '../../../../../sidecar/store/postgres/database/connection.ts'

/** Options of {@link openAppends}, beside its database. */
export const APPENDS = {
  history: { perStation: 50, duplicateMinutes: 120, duplicateSecondsUnnumbered: 30 },
  ack: { minIntervalMs: 31_000, maxPerSenderPerMinute: 10 },
  coalesceMs: 2000,
  clock: systemClock,
  onStored: () => undefined,
}

/** Registers stations, as the registry does. */
export async function registerIn(database: Postgres, ...keys: readonly string[]): Promise<void> {
  for (const key of keys) {
    const values = [
      [key],
      [''],
      ['android'],
      [`token-of-${key}`],
      [true],
      [''],
      [false],
      [false],
      [null],
      [null],
      [null],
      ['192.0.2.1'],
    ]
    await database.query(
      'SELECT FROM register_stations($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 100000, 100000, 0)',
      values,
    )
  }
}
