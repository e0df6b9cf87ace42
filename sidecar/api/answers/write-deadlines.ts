import type { ServerResponse } from 'node:http'
import type { Clock, Timer } from '../../clock.ts'

/**
 * For an answer of any size, in milliseconds. What the system takes at once, which is nearly every answer, needs none
 * of it.
 */
const LEAST_MS = 15_000
/** What a slow phone network still carries. */
const BYTES_PER_MS = 16
const SWEEP_MS = 1000

interface Unsent {
  /** When the client has to have read the answer, in elapsed time. */
  readonly deadline: number
  readonly onLate: () => void
}

/**
 * Ends the connections of clients that read their answers too slowly, so that none holds memory for long. Answers wait
 * in here only while the system has not taken all of their bytes; a timer runs only while some do.
 */
export class WriteDeadlines {
  readonly #clock: Pick<Clock, 'elapsed' | 'after'>
  readonly #waiting = new Map<ServerResponse, Unsent>()
  #sweep: Timer | undefined

  constructor(clock: Pick<Clock, 'elapsed' | 'after'>) {
    this.#clock = clock
  }

  /**
   * Watches an answer of `bytes` that was handed over whole, until its connection has taken it or is ended; then after
   * `onLate`.
   */
  watch(response: ServerResponse, bytes: number, onLate: () => void): void {
    this.#waiting.set(response, { deadline: this.#clock.elapsed() + LEAST_MS + bytes / BYTES_PER_MS, onLate })
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
