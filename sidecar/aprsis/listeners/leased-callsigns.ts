import type { Clock } from '../../clock.ts'
import { LEASE_MS } from '../../messages/leases.ts'
import type { StationKey } from '../../messages/store.ts'
import type { CallsignSource } from './callsign-source.ts'
import { freeLoginCallsign } from './login-callsigns.ts'

/**
 * No login is begun in the last part of a lease: it covers the time that a login line may be on its way, and clocks
 * that do not run equally fast.
 */
const MARGIN_MS = 2000

/** What was just granted is not used yet. */
const UNUSED_FOR_MS = 1000

/** By both clocks. */
export interface Moment {
  readonly elapsed: number
  readonly now: number
}

/** The calls that this process holds leases of, among those of other processes with the same callsign. */
export interface LeasedCallsigns extends CallsignSource {
  /** Those that it holds, as far as it knows. */
  held(): readonly string[]
  /** Further ones to ask for: as many as are lacked, none of `taken`. */
  wishes(taken: ReadonlySet<string>, first: boolean): readonly string[]
  /**
   * What came of asking at `askedAt` for all of {@link held} and for `wishes`. Returns those that are lost: their
   * leases lapsed, and somebody else has them.
   */
  answered(granted: ReadonlySet<string>, wishes: readonly string[], askedAt: Moment): ReadonlySet<string>
  /** Forgets those that have not been `inUse` for a second, and returns them. */
  dropUnused(inUse: ReadonlySet<string>): readonly string[]
  /** Connections that found none. */
  readonly lacking: boolean
}

/** `ask` is called when a connection finds none and asking at once may help. */
export function createLeasedCallsigns(
  callsign: string,
  clock: Pick<Clock, 'elapsed' | 'now'>,
  ask: () => void,
): LeasedCallsigns {
  // With the time of asking, from which the lease lasts LEASE_MS at least.
  const renewed = new Map<string, Moment>()
  let lack = 0
  let exhausted = false
  let stations: ReadonlySet<StationKey> = new Set()
  let idleSince: ReadonlyMap<string, number> = new Map()

  function mayLogIn(call: string): boolean {
    const at = renewed.get(call)
    if (!at) return false
    // Elapsed time stands still while a machine sleeps, the wall clock may step back: the one that went further is
    // right, or careful.
    return Math.max(clock.elapsed() - at.elapsed, clock.now() - at.now) < LEASE_MS - MARGIN_MS
  }

  return {
    take(inUse, present) {
      stations = present
      for (const call of renewed.keys())
        if (!inUse.has(call) && (call === callsign || !stations.has(call)) && mayLogIn(call)) return call
      lack += 1
      // Those that are taken may become free: then the next round finds them.
      if (!exhausted) ask()
      return undefined
    },
    get exhausted() {
      return exhausted
    },
    get lacking() {
      return lack > 0
    },
    mayLogIn,
    held: () => [...renewed.keys()],
    wishes(taken, first) {
      const inUse = new Set([...taken, ...renewed.keys()])
      // The configured one is for the first listener.
      if (!first) inUse.add(callsign)
      const wishes: string[] = []
      while (wishes.length < lack) {
        const call = freeLoginCallsign(callsign, inUse, stations)
        if (call === undefined) break
        inUse.add(call)
        wishes.push(call)
      }
      exhausted = wishes.length < lack
      return wishes
    },
    answered(granted, wishes, askedAt) {
      const lost = new Set<string>()
      for (const call of [...renewed.keys()]) {
        if (granted.has(call)) renewed.set(call, askedAt)
        else if (renewed.delete(call)) lost.add(call)
      }
      for (const call of wishes) if (granted.has(call)) renewed.set(call, askedAt)
      lack = 0
      return lost
    },
    dropUnused(inUse) {
      const now = clock.elapsed()
      const unused = [...renewed.keys()].filter((call) => !inUse.has(call))
      idleSince = new Map(unused.map((call) => [call, idleSince.get(call) ?? now]))
      const dropped = unused.filter((call) => now - (idleSince.get(call) ?? now) >= UNUSED_FOR_MS)
      for (const call of dropped) renewed.delete(call)
      return dropped
    },
  }
}
