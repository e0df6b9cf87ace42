import type { StationKey } from '../../messages/store.ts'

/**
 * Whether each of `wanted` is in one of the filters that are `up`, or is known to have no room; false while none is up.
 */
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

/**
 * {@link isHeard}, which goes through all stations only where one of the sets is another than the last time: what is in
 * them stays.
 */
export function watchHeard(): typeof isHeard {
  let last: readonly unknown[] = []
  let heard = false
  return (wanted, leftOut, up) => {
    const asked = [wanted, leftOut, ...up]
    if (asked.length !== last.length || asked.some((one, index) => one !== last[index]))
      heard = isHeard(wanted, leftOut, up)
    last = asked
    return heard
  }
}
