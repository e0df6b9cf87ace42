import type { Clock, Timer } from '../clock.ts'
import type { AuthLogEntry, Host } from './port.ts'

/** Lines of one event and code that a domain writes within a second. */
const MOST_LINES = 10
const SECOND_MS = 1_000

/** Events that a request of a stranger can cause. All others are as many as sessions, logins or settings. */
const REFUSALS: ReadonlySet<string> = new Set([
  'login-failed',
  'logout-failed',
  'logout-incomplete',
  'backchannel-logout-refused',
  'frontchannel-logout-refused',
  'introspection-failed',
])

interface Second {
  /** Of elapsed time. */
  readonly beganAt: number
  written: number
  leftOut: number
  /** Writes how many lines were left out, once the second is over. */
  timer: Timer | undefined
}

/**
 * Keeps the lines of refused requests within a budget: anybody can send such requests, and would fill the disk with the
 * log.
 *
 * For each domain, event and code, a second begins with the first line. Its first {@link MOST_LINES} lines are written,
 * and the rest are counted. If lines were left out, one more line with their number follows when the second is over, or
 * at {@link LogBudget.close}. There are as many entries as combinations of domain, event and code, which strangers
 * cannot add to.
 */
export class LogBudget {
  readonly #write: Host['authLog']
  readonly #clock: Clock
  readonly #seconds = new Map<string, Second>()

  constructor(write: Host['authLog'], clock: Clock) {
    this.#write = write
    this.#clock = clock
  }

  /** Writes an entry of the authentication log, or counts it. */
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
      this.#tell(entry, second),
    )
  }

  /** Writes what was counted. */
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

  #tell(entry: AuthLogEntry, second: Second): void {
    const { leftOut } = second
    second.timer = undefined
    // Timers may be early by a fraction, and what comes in that fraction has a line of its own.
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
    message: `Requests were refused faster than ${MOST_LINES} a second: the other lines of this event and code were left out. If this goes on, find the sender by the clientAddress of the written lines, and have a proxy or firewall limit it.`,
    domain,
    fields: { refused: event, code, leftOut },
  }
}
