import { readdirSync, readFileSync } from 'node:fs'

/** The resource usage of another process, as Linux reports it. */
export type ProcessUsage = ReturnType<typeof usageOf>

export function usageOf(pid: number | undefined) {
  const read = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8')
  const figure = (name: string, pattern: RegExp) => Number(pattern.exec(read(name))?.[1])
  return {
    pid,
    residentMegabytes: () => figure('status', /^VmRSS:\s+(\d+) kB$/m) / 1024,
    /**
     * Returns the CPU time of all current threads since their start, in microseconds. It is read from the scheduler,
     * because `stat` only has steps of 10 ms.
     */
    cpuMicroseconds() {
      const nanoseconds = readdirSync(`/proc/${pid}/task`).map((thread) =>
        Number.parseInt(read(`task/${thread}/schedstat`), 10),
      )
      return nanoseconds.reduce((sum, item) => sum + item, 0) / 1_000
    },
    /**
     * Returns the bytes that the process has written to files and sockets since its start (`wchar`). Unlike bytes on
     * the disk, this number does not depend on the file system and its flushes.
     */
    writtenBytes: () => figure('io', /^wchar: (\d+)$/m),
  }
}
