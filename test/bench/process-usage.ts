import { readdirSync, readFileSync } from 'node:fs'

/** Linux's figures for another process. */
export type ProcessUsage = ReturnType<typeof usageOf>

export function usageOf(pid: number | undefined) {
  const read = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8')
  const figure = (name: string, pattern: RegExp) => Number(pattern.exec(read(name))?.[1])
  return {
    pid,
    residentMegabytes: () => figure('status', /^VmRSS:\s+(\d+) kB$/m) / 1024,
    /**
     * CPU time since its start of all threads that it has now: as the scheduler counts it, and not in the steps of 10
     * ms that `stat` has.
     */
    cpuMicroseconds() {
      const nanoseconds = readdirSync(`/proc/${pid}/task`).map((thread) =>
        Number.parseInt(read(`task/${thread}/schedstat`), 10),
      )
      return nanoseconds.reduce((sum, item) => sum + item, 0) / 1_000
    },
    /**
     * What it handed to the system to be written since its start, to files and sockets (`wchar`). Unlike what went to
     * the disk it does not depend on the file system, nor on how soon that flushes.
     */
    writtenBytes: () => figure('io', /^wchar: (\d+)$/m),
  }
}
