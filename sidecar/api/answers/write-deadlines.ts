import type { ServerResponse } from 'node:http'
import type { Clock, Timer } from '../../clock.ts'

/**
 * Milliseconds that a client has to read a small answer. Nearly always the kernel accepts the whole answer at once.
 * Then the answer has no deadline.
 */
const MIN_MS = 15_000
/** Speed of a slow phone network, in bytes per millisecond. Large answers get additional time at this rate. */
const BYTES_PER_MS = 16
const SWEEP_MS = 1000

interface Unsent {
  /** The client's deadline for reading the answer, in elapsed milliseconds. */
  readonly deadline: number
  readonly onLate: () => void
}

/** Closes the connections of clients that read their answers too slowly, so that no client occupies memory for long. */
export class WriteDeadlines {
  readonly #clock: Pick<Clock, 'elapsed' | 'after'>
  readonly #waiting = new Map<ServerResponse, Unsent>()
  #sweep: Timer | undefined

  constructor(clock: Pick<Clock, 'elapsed' | 'after'>) {
    this.#clock = clock
  }

  /** Sets a deadline to read an answer of `bytes` bytes. After it, calls `onLate` and closes the connection. */
  watch(response: ServerResponse, bytes: number, onLate: () => void): void {
    this.#waiting.set(response, { deadline: this.#clock.elapsed() + MIN_MS + bytes / BYTES_PER_MS, onLate })
    response.once('close', () => this.#forget(response))
    this.#plan()
  }

  #forget(response: ServerResponse): void {
    this.#waiting.delete(response)
    if (this.#waiting.size > 0) return
    this.#sweep?.cancel()
    this.#sweep = undefined
  }

  #plan(): void {
    this.#sweep ??= this.#clock.after(SWEEP_MS, () => {
      this.#sweep = undefined
      const now = this.#clock.elapsed()
      for (const [response, { deadline, onLate }] of this.#waiting) {
        if (deadline > now) continue
        this.#waiting.delete(response)
        onLate()
        response.destroy()
      }
      if (this.#waiting.size > 0) this.#plan()
    })
  }
}
