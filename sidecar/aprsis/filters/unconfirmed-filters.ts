import type { Clock, Timer } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { SilentServers } from './silent-servers.ts'

/**
 * Minimum time between two renewals. A renewal opens new logins to the servers that left `#filter` lines unanswered,
 * and each login line has up to 8 KB.
 */
const RENEW_INTERVAL_MS = 60_000

interface UnconfirmedFiltersParts {
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  /** Replaces all connections with an unconfirmed filter by new logins. */
  readonly onRenew: () => void
}

/**
 * Logs in again to servers that do not answer `#filter` lines, at most once per minute. Some servers read a filter only
 * from the login line.
 */
export class UnconfirmedFilters {
  readonly #parts: UnconfirmedFiltersParts
  readonly #silentServers = new SilentServers()
  #renewal: Timer | undefined
  #renewedAt = Number.NEGATIVE_INFINITY

  constructor(parts: UnconfirmedFiltersParts) {
    this.#parts = parts
  }

  /** Whether this server is known to leave `#filter` lines unanswered. */
  isSilent(server: string): boolean {
    return this.#silentServers.has(server)
  }

  onAnswer(server: string, outcome: 'confirmed' | 'unanswered'): void {
    const { clock, log } = this.#parts
    if (outcome === 'confirmed') {
      this.#silentServers.delete(server)
      return
    }
    if (this.#silentServers.add(server)) {
      log.warn(
        'upstream-filter-unconfirmed',
        'The APRS-IS server answered neither of two filter changes. The sidecar assumes that they took effect, and logs in again after each change to make sure. To avoid these logins, set aprsis.host to another server.',
        { server },
      )
    }
    const waitMs = Math.max(0, this.#renewedAt + RENEW_INTERVAL_MS - clock.elapsed())
    this.#renewal ??= clock.after(waitMs, () => {
      this.#renewal = undefined
      this.#renewedAt = clock.elapsed()
      this.#parts.onRenew()
    })
  }

  close(): void {
    this.#renewal?.cancel()
  }
}
