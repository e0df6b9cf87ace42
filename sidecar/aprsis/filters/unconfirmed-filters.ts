import type { Clock, Timer } from '../../clock.ts'
import type { Log } from '../../log.ts'
import { SilentServers } from './silent-servers.ts'

/**
 * Minimum time between two renewals. A renewal logs in again at servers that leave `#filter` lines unanswered. Each of
 * these login lines has up to 8 KB.
 */
const RENEW_INTERVAL_MS = 60_000

interface UnconfirmedFiltersParts {
  readonly clock: Clock
  readonly log: Pick<Log, 'warn'>
  /** Replaces all connections with an unconfirmed filter by new logins. */
  readonly onRenew: () => void
}

/**
 * Ensures that servers which leave `#filter` lines unanswered get changed filters. Some of these servers read filters
 * only at the login, so they still have the old filter. An unanswered filter schedules a renewal, at most one per
 * minute.
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
        'The APRS-IS server answered neither of two filter changes. Its filters count as set, and the connection logs in again after each change. To avoid these logins, set aprsis.host to another server.',
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
