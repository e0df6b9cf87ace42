import type { StationKey } from '../../messages/store.ts'

/** Whether each of `wanted` is in one of the filters that are `up`, or is known to have no room; false while none is up. */
export type Readiness = (
  wanted: ReadonlySet<StationKey>,
  leftOut: readonly StationKey[],
  up: readonly ReadonlySet<StationKey>[],
) => boolean

/**
 * Remembers the last answer: it is asked for several times in each scrape, and finding out takes a look at every station. The sets
 * and the list have to be other ones when what is in them is.
 */
export function createReadiness(): Readiness {
  let last: { readonly asked: readonly unknown[]; readonly answer: boolean } | undefined
  return (wanted, leftOut, up) => {
    const asked = [wanted, leftOut, ...up]
    if (last?.asked.length === asked.length && asked.every((part, at) => part === last?.asked[at])) return last.answer
    const answer = up.length > 0 && isCovered(wanted, leftOut, up)
    last = { asked, answer }
    return answer
  }
}

function isCovered(...[wanted, leftOut, up]: Parameters<Readiness>): boolean {
  // While a big connection is down there are too few to begin with.
  const most = up.reduce((sum, { size }) => sum + size, leftOut.length)
  if (most < wanted.size) return false
  const missing = new Set(wanted)
  for (const station of leftOut) missing.delete(station)
  for (const stations of up) for (const station of stations) missing.delete(station)
  return missing.size === 0
}
