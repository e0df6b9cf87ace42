import type { Clock } from '../../clock.ts'
import { LEASE_MS } from '../../messages/leases.ts'
import type { StationKey } from '../../messages/store.ts'
import type { CallsignSource } from './callsign-source.ts'
import { freeLoginCallsign } from './login-callsigns.ts'

/**
 * No login starts in the last 2 s of a lease. A login line takes time to arrive, and the clocks of machines run at
 * slightly different speeds.
 */
const MARGIN_MS = 2000

/** Delay before an unused callsign is released. A new connection may be about to use it. */
const UNUSED_FOR_MS = 1000

/** A moment in elapsed time and in wall-clock time, both in milliseconds. */
export interface Moment {
  readonly elapsed: number
  readonly now: number
}

/**
 * The login callsigns that this process has leased. Other processes lease other SSIDs of the same base callsign.
 *
 * - {@link take} returns a leased callsign that is free. If there is none, one more is *lacking*, and a round of the
 *   election is requested.
 * - In that round, {@link wishes} names callsigns to lease, and {@link answered} records those that were granted. If
 *   fewer are free than lacking, the source is *exhausted* until a later round finds more.
 * - {@link dropUnused} forgets callsigns that were unused for a second, so that others can lease them.
 *
 * A login starts only if its callsign's lease is valid for two more seconds.
 */
export class LeasedCallsigns implements CallsignSource {
  readonly #configured: string
  readonly #clock: Pick<Clock, 'elapsed' | 'now'>
  readonly #requestRound: () => void
  /**
   * For each callsign, the time at which the last successful request for its lease began. The lease is valid for at
   * least LEASE_MS after that time.
   */
  readonly #requestedAt = new Map<string, Moment>()
  #lacking = 0
  #exhausted = false
  #stations: ReadonlySet<StationKey> = new Set()
  #unusedSince: ReadonlyMap<string, number> = new Map()

  /**
   * `requestRound` is called when no callsign is free for a connection, and the next round of the election may lease
   * one.
   */
  constructor(configured: string, clock: Pick<Clock, 'elapsed' | 'now'>, requestRound: () => void) {
    this.#configured = configured
    this.#clock = clock
    this.#requestRound = requestRound
  }

  get exhausted(): boolean {
    return this.#exhausted
  }

  /** Whether connections wait for a free login callsign. */
  get isLacking(): boolean {
    return this.#lacking > 0
  }

  take(inUse: ReadonlySet<string>, stations: ReadonlySet<StationKey>): string | undefined {
    this.#stations = stations
    for (const callsign of this.#requestedAt.keys()) {
      const isStation = callsign !== this.#configured && stations.has(callsign)
      if (!inUse.has(callsign) && !isStation && this.mayLogIn(callsign)) return callsign
    }
    this.#lacking += 1
    // If the source is exhausted, other instances hold all callsigns. A regular round leases one as soon as it is free.
    if (!this.#exhausted) this.#requestRound()
    return undefined
  }

  mayLogIn(callsign: string): boolean {
    const requestedAt = this.#requestedAt.get(callsign)
    if (!requestedAt) return false
    // Elapsed time stops while the machine sleeps, and the wall clock may step back. So the larger of both ages counts.
    const age = Math.max(this.#clock.elapsed() - requestedAt.elapsed, this.#clock.now() - requestedAt.now)
    return age < LEASE_MS - MARGIN_MS
  }

  /** Returns the callsigns that this process has leased, as far as it knows. */
  held(): readonly string[] {
    return [...this.#requestedAt.keys()]
  }

  /**
   * Returns a callsign to lease for each connection without one, none of `takenCallsigns`. Only the first listener may
   * get the configured one.
   */
  wishes(takenCallsigns: ReadonlySet<string>, isFirstListener: boolean): readonly string[] {
    const inUse = new Set([...takenCallsigns, ...this.#requestedAt.keys()])
    if (!isFirstListener) inUse.add(this.#configured)
    const wishes: string[] = []
    while (wishes.length < this.#lacking) {
      const callsign = freeLoginCallsign(this.#configured, inUse, this.#stations)
      if (callsign === undefined) break
      inUse.add(callsign)
      wishes.push(callsign)
    }
    this.#exhausted = wishes.length < this.#lacking
    return wishes
  }

  /**
   * Records which {@link held} callsigns and `wishes` the store leased. Returns each held callsign that another process
   * leased after this process's lease expired. `requestedAt`: when the request began.
   */
  answered(granted: ReadonlySet<string>, wishes: readonly string[], requestedAt: Moment): ReadonlySet<string> {
    const lost = new Set<string>()
    for (const callsign of this.held()) {
      if (granted.has(callsign)) this.#requestedAt.set(callsign, requestedAt)
      else if (this.#requestedAt.delete(callsign)) lost.add(callsign)
    }
    for (const callsign of wishes) if (granted.has(callsign)) this.#requestedAt.set(callsign, requestedAt)
    this.#lacking = 0
    return lost
  }

  /** Forgets the callsigns that have not been `inUse` for a second, and returns them. */
  dropUnused(inUse: ReadonlySet<string>): readonly string[] {
    const now = this.#clock.elapsed()
    const unused = this.held().filter((callsign) => !inUse.has(callsign))
    const unusedSince = new Map(unused.map((callsign) => [callsign, this.#unusedSince.get(callsign) ?? now]))
    const dropped = unused.filter((callsign) => now - (unusedSince.get(callsign) ?? now) >= UNUSED_FOR_MS)
    for (const callsign of dropped) this.#requestedAt.delete(callsign)
    this.#unusedSince = unusedSince
    return dropped
  }
}
