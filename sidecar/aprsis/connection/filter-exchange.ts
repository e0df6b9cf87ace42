import type { Clock, Timer } from '../../clock.ts'
import type { Metrics } from '../../metrics.ts'
import { acceptsFilter, confirmationLine, filterLine } from '../protocol/filter.ts'

const ANSWER_TIMEOUT_MS = 10_000

/** Maximum number of times that the same `#filter` line is sent to a server that does not answer. */
const TRIES = 2

/**
 * How the server got the newest filter:
 *
 * - `set_by_login`: in the login line, which the server accepted.
 * - `confirmed`: in a `#filter` line, which the server answered.
 * - `unanswered`: in a `#filter` line, but the server does not answer these. It may have applied it (udpgate4, aprsgo)
 *   or ignored it (Polaric aprsd).
 */
export type FilterOutcome = 'set_by_login' | 'confirmed' | 'unanswered'

interface FilterExchangeParts {
  readonly clock: Clock
  readonly metrics: Metrics
  /** The filter of the login line. */
  readonly filter: string
  /** Whether the server is known to leave `#filter` lines unanswered. */
  isSilent(): boolean
  write(line: string): void
  onOutcome(outcome: FilterOutcome): void
}

/**
 * Changes the filter of a running login. At most one `#filter` line awaits its answer.
 *
 * - `login`: the login line is not sent yet. It will contain the newest filter.
 * - `asked`: a `#filter` line waits up to 10 s for its answer, and is sent at most twice. A server that does not answer
 *   is *silent*. If the filter has changed meanwhile, the next line follows.
 * - `settled`: the server has confirmed the newest filter, or it is silent and was sent this filter.
 *
 * If the server is silent, each filter gets the outcome `unanswered` at once. If it answers later, the filter is sent
 * again, and answers are awaited from then on.
 */
export class FilterExchange {
  readonly #parts: FilterExchangeParts
  #state: 'login' | 'settled' | 'asked' = 'login'
  #wanted: string
  /** The newest filter that was sent. */
  #sent = ''
  /** The filter that was sent before `#sent`. A late confirmation of this earlier filter does not confirm `#sent`. */
  #previous: string | undefined
  #tries = 0
  #silent = false
  #deadline: Timer | undefined

  constructor(parts: FilterExchangeParts) {
    this.#parts = parts
    this.#wanted = parts.filter
  }

  /** Returns the filter for the login line. Call right before that line is sent. */
  filterForLogin(): string {
    this.#parts.metrics.count('filters_sent')
    this.#sent = this.#wanted
    return this.#sent
  }

  /** Call when the server has accepted the login, and therefore the filter in the login line too. */
  loggedIn(): void {
    this.#silent = this.#parts.isSilent()
    if (this.#wanted === this.#sent) this.#settle('set_by_login')
    else this.#ask()
  }

  setFilter(filter: string): void {
    if (this.#wanted === filter) return
    this.#wanted = filter
    if (this.#state === 'settled') this.#ask()
  }

  /** Handles a comment line that the server sent after the login. */
  onComment(line: string): void {
    if (!acceptsFilter(line) || this.#state === 'login') return
    if (this.#isLate(line)) return
    if (this.#state === 'asked') this.#answered()
    else if (this.#silent) {
      this.#silent = false
      this.#ask()
    }
  }

  close(): void {
    this.#deadline?.cancel()
  }

  /**
   * Whether a line confirms the previous filter. Servers repeat only the beginning; if both begin alike, the newest
   * counts.
   */
  #isLate(line: string): boolean {
    if (this.#previous === undefined || line === confirmationLine(this.#sent)) return false
    return line === confirmationLine(this.#previous)
  }

  #ask(): void {
    const { clock, metrics, write } = this.#parts
    if (this.#sent !== this.#wanted) {
      this.#previous = this.#sent
      this.#sent = this.#wanted
    }
    metrics.count('filters_sent')
    write(filterLine(this.#sent))
    if (this.#silent) {
      this.#settle('unanswered')
      return
    }
    this.#state = 'asked'
    this.#tries += 1
    this.#deadline = clock.after(ANSWER_TIMEOUT_MS, () => this.#unanswered())
  }

  #unanswered(): void {
    this.#parts.metrics.count('filters_repaired')
    this.#silent = this.#tries >= TRIES
    if (this.#silent && this.#wanted === this.#sent) this.#settle('unanswered')
    else this.#ask()
  }

  #answered(): void {
    this.#deadline?.cancel()
    this.#tries = 0
    if (this.#wanted === this.#sent) this.#settle('confirmed')
    else this.#ask()
  }

  #settle(outcome: FilterOutcome): void {
    this.#state = 'settled'
    this.#tries = 0
    this.#parts.onOutcome(outcome)
  }
}
