import { ClientError, closedError } from './client-error.ts'
import type { Timers } from './timers.ts'

/** Runs one job at a time, because the cursor of an answer must be stored before the next request is sent. */
export interface JobQueue<Name extends string> {
  /**
   * Runs the job `name`, and settles with its outcome. Calls share a waiting run. Temporary failures are retried after
   * a pause.
   */
  run(name: Name): Promise<void>
  /** Ends the pause after a failure, so that waiting jobs run now. */
  hurry(): void
  /** Rejects waiting jobs with `closed`. Resolves once the running job has ended. */
  close(): Promise<void>
}

interface QueueParts<Name extends string> {
  readonly jobs: Readonly<Record<Name, () => Promise<void>>>
  readonly timers: Timers
  /** Returns a random number from 0 to below 1. */
  readonly random: () => number
}

export function createJobQueue<Name extends string>(parts: QueueParts<Name>): JobQueue<Name> {
  return new RetryingQueue(parts)
}

/**
 * Runs one job after the other, or is paused. A temporary failure pauses the queue, and puts the failed job back into
 * it. The pause grows with consecutive failures, and `hurry` ends it. After `close`, no job runs.
 */
class RetryingQueue<Name extends string> implements JobQueue<Name> {
  readonly #jobs: Readonly<Record<Name, () => Promise<void>>>
  readonly #timers: Timers
  readonly #random: () => number
  readonly #waiting = new Map<Name, Promise<void>>()
  #last: Promise<void> = Promise.resolve()
  /** Number of consecutive temporary failures. */
  #failures = 0
  #isClosed = false
  #pause: { readonly over: Promise<void>; end(): void } | undefined

  constructor({ jobs, timers, random }: QueueParts<Name>) {
    this.#jobs = jobs
    this.#timers = timers
    this.#random = random
  }

  run(name: Name): Promise<void> {
    const shared = this.#waiting.get(name)
    if (shared !== undefined) return shared
    const job = this.#perform(name, this.#last)
    this.#waiting.set(name, job)
    this.#last = job.catch(() => {})
    return job
  }

  hurry(): void {
    this.#pause?.end()
  }

  close(): Promise<void> {
    this.#isClosed = true
    this.#pause?.end()
    return this.#last
  }

  async #perform(name: Name, previous: Promise<unknown>): Promise<void> {
    await previous
    while (this.#pause) await this.#pause.over
    this.#waiting.delete(name)
    if (this.#isClosed) throw closedError()
    try {
      await this.#jobs[name]()
      this.#failures = 0
    } catch (error) {
      if (error instanceof ClientError && error.passing && !this.#isClosed) {
        this.#failures++
        this.#startPause(retryDelayMs(this.#failures, this.#random()))
        // The caller gets the error of the first attempt. The retry has no caller, so its error is ignored.
        this.run(name).catch(() => {})
      }
      throw error
    }
  }

  #startPause(delayMs: number): void {
    let settle = () => {}
    const over = new Promise<void>((resolve) => {
      settle = resolve
    })
    const end = () => {
      timer.cancel()
      this.#pause = undefined
      settle()
    }
    const timer = this.#timers.after(delayMs, end)
    this.#pause = { over, end }
  }
}

const MIN_DELAY_MS = 2000
const MAX_DELAY_MS = 900_000

/**
 * Returns the delay before the next attempt in milliseconds: random from half a limit to the limit, so that phones do
 * not return all at once. The limit doubles with each failure, from 4 s to 15 minutes. This also suits a rate limit of
 * a minute or an hour, which looks like a lost connection.
 *
 * @param failures consecutive failures, from 1
 * @param random from 0 to below 1
 */
export function retryDelayMs(failures: number, random: number): number {
  const limit = Math.min(MAX_DELAY_MS, MIN_DELAY_MS * 2 ** failures)
  return Math.round((limit * (1 + random)) / 2)
}
