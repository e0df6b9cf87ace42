import { ClientError, closedError } from './client-error.ts'
import type { Timers } from './timers.ts'

/** Runs jobs one after the other: an answer's cursor is to be judged before the next request goes out. */
export interface JobQueue<Name extends string> {
  /**
   * Settles with the job. Jobs that wait are shared by who asks for the same; so at most one of each waits. What fails
   * for a passing reason is tried again by itself, after a growing delay that holds up all jobs.
   */
  run(name: Name): Promise<void>
  /** Has jobs that wait after a failure go on at once. */
  hurry(): void
  /** What waits rejects with `closed`. Resolves once the job under way has ended, too. */
  close(): Promise<void>
}

interface QueueParts<Name extends string> {
  readonly jobs: Readonly<Record<Name, () => Promise<void>>>
  readonly timers: Timers
  /** From 0 to below 1. */
  readonly random: () => number
}

export function createJobQueue<Name extends string>({ jobs, timers, random }: QueueParts<Name>): JobQueue<Name> {
  const waiting = new Map<Name, Promise<void>>()
  let last: Promise<void> = Promise.resolve()
  let failures = 0
  let closed = false
  let pause: { readonly over: Promise<void>; end(): void } | undefined

  async function perform(name: Name, before: Promise<unknown>): Promise<void> {
    await before
    while (pause) await pause.over
    waiting.delete(name)
    if (closed) throw closedError()
    try {
      await jobs[name]()
      failures = 0
    } catch (error) {
      if (error instanceof ClientError && error.passing && !closed) {
        failures++
        hold(retryDelayMs(failures, random()))
        retry(name)
      }
      throw error
    }
  }

  function hold(delayMs: number): void {
    let settle = () => {}
    const over = new Promise<void>((resolve) => {
      settle = resolve
    })
    const end = () => {
      timer.cancel()
      pause = undefined
      settle()
    }
    const timer = timers.after(delayMs, end)
    pause = { over, end }
  }

  function retry(name: Name): void {
    // Whoever asked was told; this is for nobody.
    run(name).catch(() => {})
  }

  function run(name: Name): Promise<void> {
    const shared = waiting.get(name)
    if (shared !== undefined) return shared
    const job = perform(name, last)
    waiting.set(name, job)
    last = job.catch(() => {})
    return job
  }

  return {
    run,
    hurry: () => pause?.end(),
    close() {
      closed = true
      pause?.end()
      return last
    },
  }
}

const SHORTEST_MS = 2000
const LONGEST_MS = 900_000

/**
 * How long to wait before the next try, in milliseconds: from half of a limit up to all of it, which doubles with each
 * failure from 4 s to 15 minutes. A rate limit shows as a connection that ends without a byte and lasts for a minute
 * or, for new stations, an hour; the spread keeps phones from returning all at once. `failures` counts from 1; `random`
 * is from 0 to below 1.
 */
export function retryDelayMs(failures: number, random: number): number {
  const limit = Math.min(LONGEST_MS, SHORTEST_MS * 2 ** failures)
  return Math.round((limit * (1 + random)) / 2)
}
