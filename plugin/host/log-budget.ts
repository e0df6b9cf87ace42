import type { Clock, Timer } from '../clock.ts'
import type { AuthLogEntry, Host } from './port.ts'

/** Lines of one event and code that a domain writes within a second. */
const MOST_LINES = 10
const SECOND_MS = 1_000

/** Events that a stranger's request can cause. Sessions, logins or settings limit all other events. */
const REFUSALS: ReadonlySet<string> = new Set([
  'login-failed',
  'logout-failed',
  'logout-incomplete',
  'backchannel-logout-refused',
  'frontchannel-logout-refused',
  'introspection-failed',
])

interface Second {
  /** Elapsed time. */
  readonly beganAt: number
  written: number
  leftOut: number
  /** Writes how many lines were left out, at the end of the second. */
  timer: Timer | undefined
}

/**
 * Limits the log lines of refused requests. Any stranger can send such requests and would fill the disk with the log.
 *
 * For each domain, event and code, a second begins with the first line. Its first {@link MOST_LINES} lines are written,
 * and the rest are counted. If lines were left out, one more line with their number follows when the second is over, or
 * at {@link LogBudget.close}. There are as many entries as combinations of domain, event and code, and strangers cannot
 * add to these.
 */
export class LogBudget {
  readonly #write: Host['authLog']
  readonly #clock: Clock
  readonly #seconds = new Map<string, Second>()

  constructor(write: Host['authLog'], clock: Clock) {
    this.#write = write
    this.#clock = clock
  }

  /** Writes an entry to the authentication log, or counts it. */
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

  /** Writes how many lines were left out so far. */
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
    // Timers may fire a fraction early. Lines that are left out in that fraction get a line of their own.
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
