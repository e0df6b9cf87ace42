import type { Clock } from '../../clock.ts'
import type { Log } from '../../log.ts'

/** Limit of packet lines that are not processed yet. Above it, the sockets are not read. */
const MAX_UNSETTLED_LINES = 5000

interface LineIntakeParts {
  /** Processes packet lines in the order of arrival. Settles once each line is stored, dropped or lost. */
  readonly receive: (lines: readonly string[]) => Promise<void>
  readonly clock: Pick<Clock, 'now'>
  readonly log: Pick<Log, 'error'>
  /** Called with true when the sockets should no longer be read, and with false when they should be read again. */
  readonly onFull: (full: boolean) => void
}

/**
 * Passes packet lines to `receive`. It is *full* from more than 5,000 unprocessed lines until fewer than 2,500 are
 * left, but still accepts lines already read. After {@link close}, it drops all lines.
 */
export class LineIntake {
  readonly #parts: LineIntakeParts
  #unsettled = 0
  #full = false
  #closed = false
  #lastPacketAt: number | undefined
  /** Functions that resolve the promises of {@link settled}. */
  #waiting: (() => void)[] = []

  constructor(parts: LineIntakeParts) {
    this.#parts = parts
  }

  get full(): boolean {
    return this.#full
  }

  /** Wall-clock time of the last packet line, in milliseconds since 1970; undefined before the first line. */
  get lastPacketAt(): number | undefined {
    return this.#lastPacketAt
  }

  /** Accepts packet lines as Latin-1, without line ends. Never throws; if processing fails, the error is logged. */
  take(lines: readonly string[]): void {
    if (this.#closed) return
    this.#lastPacketAt = this.#parts.clock.now()
    this.#unsettled += lines.length
    void this.#process(lines)
    if (this.#full || this.#unsettled <= MAX_UNSETTLED_LINES) return
    this.#full = true
    this.#parts.onFull(true)
  }

  close(): void {
    this.#closed = true
  }

  /** Resolves once every accepted line is stored, dropped or lost. */
  settled(): Promise<void> {
    return this.#unsettled === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve))
  }

  async #process(lines: readonly string[]): Promise<void> {
    const { receive, log } = this.#parts
    try {
      await receive(lines)
    } catch (error) {
      log.error(
        'lines-not-processed',
        'Could not process lines from APRS-IS; their messages are lost. This is a bug in the sidecar: please report it with this log line.',
        { lines: lines.length, error },
      )
    }
    this.#settle(lines.length)
  }

  #settle(count: number): void {
    this.#unsettled -= count
    if (this.#unsettled === 0) {
      for (const resolve of this.#waiting) resolve()
      this.#waiting = []
    }
    if (!this.#full || this.#unsettled >= MAX_UNSETTLED_LINES / 2) return
    this.#full = false
    this.#parts.onFull(false)
  }
}
