import type { StationKey } from '../../messages/store.ts'

/**
 * Whether the filters set at the servers contain all `wanted` stations, except those in `leftOut`. `up`: for each of
 * these filters, its set of stations. Returns false if no filter is set.
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
 * Returns a version of {@link isHeard} that caches its last result. A call with the same set objects as the last call
 * returns the cached result, because the contents of a set never change.
 */
export function watchHeard(): typeof isHeard {
  let last: readonly unknown[] = []
  let heard = false
  return (wanted, leftOut, up) => {
    const inputs = [wanted, leftOut, ...up]
    if (inputs.length !== last.length || inputs.some((input, index) => input !== last[index]))
      heard = isHeard(wanted, leftOut, up)
    last = inputs
    return heard
  }
}
