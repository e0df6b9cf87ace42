import type { Clock, Timer } from '../../clock.ts'

/** Interval between the starts of two runs of the task, in milliseconds. */
const ROUND_MS = 1000

interface RoundsParts {
  readonly clock: Clock
  readonly round: () => Promise<void>
  /**
   * Called at the end of a run of the task if another run was requested meanwhile. Returns whether that run is still
   * needed.
   */
  readonly isNeeded: () => boolean
  readonly onSuccess: () => void
  readonly onFailure: (error: unknown) => void
}

/** Runs a task every second, or right after it ends if it takes longer. Runs, called rounds, never overlap. */
export class Rounds {
  readonly #parts: RoundsParts
  #current: Promise<void> | undefined
  #timer: Timer | undefined
  #isRequested = false
  #stopped = false

  constructor(parts: RoundsParts) {
    this.#parts = parts
  }

  /** Runs the task for the first time, and then every second. Call once. */
  start(): void {
    this.#run()
  }

  /** Starts a round at once, or right after the current one. */
  request(): void {
    this.#isRequested = true
    if (!this.#current && !this.#stopped) this.#run()
  }

  /** Prevents further runs of the task. A run in progress continues. */
  stop(): void {
    this.#stopped = true
    this.#timer?.cancel()
  }

  /** Resolves once the task is not running. */
  async idle(): Promise<void> {
    await this.#current
  }

  #run(): void {
    const { clock, round, isNeeded, onSuccess, onFailure } = this.#parts
    this.#isRequested = false
    this.#timer?.cancel()
    const startedAt = clock.elapsed()
    this.#current = round().then(onSuccess, onFailure)
    void this.#current.then(() => {
      this.#current = undefined
      if (this.#stopped) return
      if (this.#isRequested && isNeeded()) this.#run()
      else this.#timer = clock.after(Math.max(0, startedAt + ROUND_MS - clock.elapsed()), () => this.#run())
    })
  }
}
