import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import {
  type BenchReadings,
  familyTicks,
  type MachineState,
  machineState,
  parseReading,
  type Reading,
} from './machine-state.ts'

/** Interval of the readings during a bench. Each takes 2 ms. */
const READ_EVERY_MS = 5000

/**
 * Watches what else the machine does during the benches. It reads counters of Linux at the begin and the end of each
 * bench, and every 5 s in between.
 */
export class Machine {
  readonly #benches: BenchReadings[] = []

  /** Runs a bench, and reads the counters. */
  async during<Result>(name: string, bench: () => Promise<Result>): Promise<Result> {
    if (!existsSync('/proc/stat')) return bench()
    const readings = [readNow()]
    const timer = setInterval(() => readings.push(readNow()), READ_EVERY_MS)
    try {
      return await bench()
    } finally {
      clearInterval(timer)
      readings.push(readNow())
      this.#benches.push({ name, readings })
    }
  }

  /** Returns the state during all benches so far; undefined if the system has no counters. */
  state(): MachineState | undefined {
    return this.#benches.length === 0 ? undefined : machineState(availableParallelism(), this.#benches)
  }
}

function readNow(): Reading {
  const stats = new Map<number, string>()
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue
    try {
      stats.set(Number(name), readFileSync(`/proc/${name}/stat`, 'utf8'))
    } catch {
      // The process ended after its name was read.
    }
  }
  const [stat, load] = [readFileSync('/proc/stat', 'utf8'), readFileSync('/proc/loadavg', 'utf8')]
  return parseReading(stat, load, familyTicks(process.pid, stats))
}
