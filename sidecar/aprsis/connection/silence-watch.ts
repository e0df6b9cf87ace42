import type { Clock, Timer } from '../../clock.ts'

/** Interval at which the silence is checked, in milliseconds. */
const TICK_MS = 15_000
/**
 * After so many intervals without a complete line, a connection is dead: servers send a comment every 20 s. Single
 * bytes do not count, because some middleboxes send them on a dead connection.
 */
const SILENT_TICKS = 5

/**
 * Half an hour in ticks, the interval of keep-alive lines. Servers drop a client that writes nothing: aprsc after 48 h
 * by default, others sooner.
 */
const KEEP_ALIVE_TICKS = 120

interface SilenceWatchParts {
  readonly clock: Clock
  /** Whether reading is paused. While reading is paused, a silent server cannot be detected. */
  readonly isPaused: () => boolean
  /** Called once if the server has been silent for too long. */
  readonly onSilent: () => void
  /** Called if nothing was sent to the server for half an hour. */
  readonly keepAlive: () => void
}

/** Detects that either side of a connection has been silent for too long. Runs from its creation until {@link stop}. */
export class SilenceWatch {
  readonly #parts: SilenceWatchParts
  #ticksSinceRead = 0
  #ticksSinceWrite = 0
  #timer: Timer

  constructor(parts: SilenceWatchParts) {
    this.#parts = parts
    this.#timer = this.#next()
  }

  /** Records that the server is not silent. Call for each read that contains the end of a line. */
  onLine(): void {
    this.#ticksSinceRead = 0
  }

  /** Postpones the next keep-alive line. Call for each line that is sent to the server. */
  onWrite(): void {
    this.#ticksSinceWrite = 0
  }

  stop(): void {
    this.#timer.cancel()
  }

  #next(): Timer {
    return this.#parts.clock.after(TICK_MS, () => this.#tick())
  }

  #tick(): void {
    const { isPaused, onSilent, keepAlive } = this.#parts
    this.#ticksSinceRead = isPaused() ? 0 : this.#ticksSinceRead + 1
    this.#ticksSinceWrite += 1
    if (this.#ticksSinceRead >= SILENT_TICKS) {
      onSilent()
      return
    }
    if (this.#ticksSinceWrite >= KEEP_ALIVE_TICKS) keepAlive()
    this.#timer = this.#next()
  }
}
