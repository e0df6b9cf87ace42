import type { StationKey } from '../../messages/store.ts'

/** Whether each of `wanted` is in one of the filters that are `up`, or is known to have no room; false while none is up. */
export function isHeard(
  wanted: ReadonlySet<StationKey>,
  leftOut: readonly StationKey[],
  up: readonly ReadonlySet<StationKey>[],
): boolean {
  if (up.length === 0) return false
  const missing = new Set(wanted)
  for (const station of leftOut) missing.delete(station)
  for (const stations of up) for (const station of stations) missing.delete(station)
  return missing.size === 0
}
