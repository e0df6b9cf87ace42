import type { Clock, Timer } from '../clock.ts'
import type { AuthLogEntry, Host } from './port.ts'

/** Limit of log lines per second for each combination of domain, event and code. */
const MOST_LINES = 10
const SECOND_MS = 1_000

/**
 * The events that any stranger's request can cause. The number of all other events is limited by the number of
 * sessions, logins or settings.
 */
const REFUSALS: ReadonlySet<string> = new Set([
  'login-failed',
  'logout-failed',
  'logout-incomplete',
  'backchannel-logout-refused',
  'frontchannel-logout-refused',
  'introspection-failed',
])

interface Second {
  /** When the current period of one second began, in milliseconds of `Clock.elapsed`. */
  readonly beganAt: number
  written: number
  leftOut: number
  /** The timer that logs the number of left-out lines at the end of the second. */
  timer: Timer | undefined
}

/**
 * Limits the log lines about refused requests, with which any stranger could otherwise fill the disk.
 *
 * For each domain, event and code, a second begins with the first line. Its first {@link MOST_LINES} lines are written.
 * The rest are counted, and their number is logged at the end or at {@link LogBudget.close}. No request creates a new
 * combination, so memory is bounded.
 */
export class LogBudget {
  readonly #write: Host['authLog']
  readonly #clock: Clock
  readonly #seconds = new Map<string, Second>()

  constructor(write: Host['authLog'], clock: Clock) {
    this.#write = write
    this.#clock = clock
  }

  /** Writes an entry to the authentication log. If the limit of lines per second is reached, only counts the entry. */
  write(entry: AuthLogEntry): void {
    const { domain, event, fields } = entry
    if (!REFUSALS.has(event)) {
      this.#write(entry)
      return
    }
    const second = this.#secondOf(JSON.stringify([domain, event, fields.code]))
    if (second.written < MOST_LINES) {
      second.written += 1
      this.#write(entry)
      return
    }
    second.leftOut += 1
    second.timer ??= this.#clock.after(SECOND_MS - (this.#clock.elapsed() - second.beganAt), () =>
      this.#writeLeftOut(entry, second),
    )
  }

  /** Logs how many lines were left out in the current second, and stops the timers. */
  close(): void {
    for (const [key, { timer, leftOut }] of this.#seconds) {
      if (!timer) continue
      timer.cancel()
      const [domain, event, code] = JSON.parse(key)
      this.#write(linesLeftOut({ domain, event, fields: { code } }, leftOut))
    }
    this.#seconds.clear()
  }

  #secondOf(key: string): Second {
    const current = this.#seconds.get(key)
    const now = this.#clock.elapsed()
    if (current && (current.timer || now - current.beganAt < SECOND_MS)) return current
    const begun = { beganAt: now, written: 0, leftOut: 0, timer: undefined }
    this.#seconds.set(key, begun)
    return begun
  }

  #writeLeftOut(entry: AuthLogEntry, second: Second): void {
    const { leftOut } = second
    second.timer = undefined
    // Reset the count of left-out lines. If the timer fires slightly before the second ends, more lines may be left
    // out in the same second.
    second.leftOut = 0
    this.#write(linesLeftOut(entry, leftOut))
  }
}

function linesLeftOut(
  { domain, event, fields: { code } }: Pick<AuthLogEntry, 'domain' | 'event' | 'fields'>,
  leftOut: number,
): AuthLogEntry {
  return {
    level: 'warn',
    event: 'lines-left-out',
    message: `Requests were refused faster than ${MOST_LINES} a second; further lines of this event and code were left out. If this continues, find the sender by the clientAddress in the written lines, and limit it in a proxy or firewall.`,
    domain,
    fields: { refused: event, code, leftOut },
  }
}
