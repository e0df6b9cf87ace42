const WINDOW_MS = 15 * 60_000

/** Maximum number of dropped logins that are remembered. */
const MAX_KEPT = 20

/**
 * Number of drops within 15 minutes at which the connection is considered flapping. A restart of the server causes one
 * drop, and an unreliable network two.
 */
export const FLAPPING_DROPS = 3

/** The likely cause of a flapping connection, and the remedy, for the log and the status page. */
export const LIKELY_CAUSE_OF_FLAPPING =
  'Probably another program logs in with the same callsign, and the server drops the older login each time: set aprsis.callsign to an SSID that nothing else uses.'

/**
 * The logins of one connection that a server accepted and then ended within the last 15 minutes. Its methods take the
 * elapsed time in milliseconds.
 */
export class RecentDrops {
  readonly #times: number[] = []

  add(nowMs: number): void {
    this.#times.push(nowMs)
    if (this.#times.length > MAX_KEPT) this.#times.shift()
  }

  count(nowMs: number): number {
    return this.#times.filter((time) => nowMs - time < WINDOW_MS).length
  }
}
