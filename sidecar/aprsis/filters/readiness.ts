import type { StationKey } from '../../messages/store.ts'

/**
 * Whether the filters set at the servers, given in `up` by their stations, contain all `wanted` stations except
 * `leftOut`.
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

/** Returns {@link isHeard} with a cache: another call with the same set objects returns the last result. */
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
