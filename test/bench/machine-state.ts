/** One reading of the machine's counters. CPU times are since the machine's start, in ticks of the kernel. */
export interface Reading {
  /** CPU time of all processors, including idle time. */
  readonly all: number
  /** CPU time in which processors ran processes. */
  readonly used: number
  /** CPU time in which the machine was ready to run, but its host ran something else. */
  readonly stolen: number
  /** CPU time of the bench, with all processes that it started. */
  readonly ours: number
  /** Average number of running and waiting processes in the last minute, including those of the bench. */
  readonly load: number
}

/** What happened on the machine besides the bench. */
export interface MachineState {
  readonly processors: number
  /** Whether other work distorted the figures. CPU times are affected least. */
  readonly busy: boolean
  /** Benches that were running while the machine was busy. */
  readonly busyIn: readonly string[]
  /** Share of the machine's CPU time that processes outside the bench used, in percent. */
  readonly othersPercent: number
  /** Share of the machine's CPU time that its host used for something else, in percent. */
  readonly stolenPercent: number
  readonly load: { readonly before: number; readonly most: number; readonly after: number }
}

/** The readings during one bench; the first and the last are at its begin and end. */
export interface BenchReadings {
  readonly name: string
  readonly readings: readonly Reading[]
}

/** From these shares on, the machine is called busy. Flushes of the disk, by the kernel, take up to 5 %. */
const BUSY_OTHERS_PERCENT = 10
const BUSY_STOLEN_PERCENT = 2
const COUNTERS = /^cpu +(.*)$/m
/** Fields of `/proc/PID/stat` after the name of the program, which may contain spaces and parentheses. */
const PARENT = 1
const OWN_TIMES = [11, 12, 13, 14]

/** Parses `/proc/stat` and `/proc/loadavg`. `ours`: see {@link Reading}. */
export function parseReading(stat: string, loadavg: string, ours: number): Reading {
  const [user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, stolen = 0] = (
    COUNTERS.exec(stat)?.[1] ?? ''
  )
    .split(' ')
    .map(Number)
  const used = user + nice + system
  return { all: used + idle + iowait + irq + softirq + stolen, used, stolen, ours, load: Number.parseFloat(loadavg) }
}

/**
 * Returns the CPU time of a process and its descendants, also of those that have ended, in ticks. `stats`: the contents
 * of `/proc/PID/stat` of all processes, by process id.
 */
export function familyTicks(root: number, stats: ReadonlyMap<number, string>): number {
  const children = new Map<number, number[]>()
  const fields = new Map<number, readonly number[]>()
  for (const [pid, stat] of stats) {
    const values = stat
      .slice(stat.lastIndexOf(')') + 2)
      .split(' ')
      .map(Number)
    const parent = values[PARENT] ?? 0
    fields.set(pid, values)
    children.set(parent, [...(children.get(parent) ?? []), pid])
  }
  const ticksOf = (pid: number): number =>
    OWN_TIMES.reduce((sum, index) => sum + (fields.get(pid)?.[index] ?? 0), 0) +
    (children.get(pid) ?? []).reduce((sum, child) => sum + ticksOf(child), 0)
  return ticksOf(root)
}

/** Returns the state of the machine during the benches. */
export function machineState(processors: number, benches: readonly BenchReadings[]): MachineState {
  const all = benches.flatMap(({ readings }) => readings)
  const loads = all.map(({ load }) => load)
  const busyIn = benches.filter(({ readings }) => isBusy(shares(readings))).map(({ name }) => name)
  return {
    processors,
    busy: busyIn.length > 0,
    busyIn,
    ...shares(all),
    load: { before: loads[0] ?? 0, most: Math.max(0, ...loads), after: loads.at(-1) ?? 0 },
  }
}

/** Describes the state in a line below the table. */
export function machineLine(state: MachineState | undefined): string {
  if (!state) return 'The state of the machine is unknown, because it has no /proc.'
  const { processors, busy, busyIn, othersPercent, stolenPercent, load } = state
  const figures =
    `Other processes used ${othersPercent.toFixed(0)} % of its CPU time, and its host took ${stolenPercent.toFixed(0)} %. ` +
    `Its load was ${load.before.toFixed(1)} before, ${load.most.toFixed(1)} at most, and ${load.after.toFixed(1)} after.`
  const machine = `The machine with ${processors} processors was`
  if (!busy) return `${machine} quiet. ${figures}`
  const advice = 'Trust the rows in CPU time most, and measure the others again.'
  return `${machine} BUSY during ${busyIn.join(', ')}. ${figures} ${advice}`
}

type Shares = Pick<MachineState, 'othersPercent' | 'stolenPercent'>

function isBusy({ othersPercent, stolenPercent }: Shares): boolean {
  return othersPercent >= BUSY_OTHERS_PERCENT || stolenPercent >= BUSY_STOLEN_PERCENT
}

function shares(readings: readonly Reading[]): Shares {
  const [first, last] = [readings[0], readings.at(-1)]
  const all = first && last ? last.all - first.all : 0
  if (!first || !last || all === 0) return { othersPercent: 0, stolenPercent: 0 }
  const others = last.used - first.used - (last.ours - first.ours)
  const percent = (ticks: number) => (Math.max(0, ticks) / all) * 100
  return { othersPercent: percent(others), stolenPercent: percent(last.stolen - first.stolen) }
}
