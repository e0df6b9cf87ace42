import { readFileSync } from 'node:fs'

/** Of the clock that `/proc` counts CPU time in, on every Linux. */
const TICKS_PER_SECOND = 100
const USER_TICKS = 11

/** What Linux says of another process. */
export interface ProcessUsage {
  residentMegabytes(): number
  /** CPU time of all its threads since its start, in steps of 10 ms. */
  cpuMicroseconds(): number
  /**
   * What it handed to the system to be written since its start, to files and sockets (`wchar`). Unlike what went to the disk it does not
   * depend on the file system, nor on how soon that flushes.
   */
  writtenBytes(): number
}

export function usageOf(pid: number | undefined): ProcessUsage {
  const read = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8')
  const figure = (name: string, pattern: RegExp) => Number(pattern.exec(read(name))?.[1])
  return {
    residentMegabytes: () => figure('status', /^VmRSS:\s+(\d+) kB$/m) / 1024,
    cpuMicroseconds() {
      // Behind the name, which may have blanks of its own.
      const fields = read('stat').split(') ')[1]?.split(' ') ?? []
      return ((Number(fields[USER_TICKS]) + Number(fields[USER_TICKS + 1])) * 1_000_000) / TICKS_PER_SECOND
    },
    writtenBytes: () => figure('io', /^wchar: (\d+)$/m),
  }
}
