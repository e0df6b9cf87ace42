import type { StationKey } from '../../messages/store.ts'

/**
 * Whether each of the `wanted` stations is in one of the filters that are `up`, or is left out. False if no filter is
 * up.
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
 * Returns {@link isHeard} with a cache: it compares the stations only if one of the set objects differs from the last
 * call. The contents of a set never change.
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
