import { createLog, type Log, type LogLevel } from '../../sidecar/log.ts'

type Line = Readonly<Record<string, unknown>>

export interface RecordedLog {
  readonly log: Log
  /** What it has written, parsed. */
  readonly lines: Line[]
  /** The lines of one event. */
  of(event: string): readonly Line[]
  /** What the lines have of these members, a list for each line; of one member the values themselves. */
  shown(...names: readonly string[]): readonly unknown[]
  /** Resolves once there is a line of this event. */
  logged(event: string): Promise<void>
}

/** A log of the sidecar that begins empty with each test. Call inside a `describe`. */
export function recordedLog(level: LogLevel = 'debug'): RecordedLog {
  const lines: Line[] = []
  let onLine: (() => void) | undefined
  beforeEach(() => {
    lines.length = 0
    onLine = undefined
  })
  return {
    log: createLog(level, {
      write(line) {
        lines.push(JSON.parse(line))
        onLine?.()
      },
    }),
    lines,
    of: (event) => lines.filter((line) => line.event === event),
    shown: (...names) => lines.map((line) => (names.length === 1 ? line[names[0]!] : names.map((name) => line[name]))),
    logged: (event) =>
      new Promise((resolve) => {
        onLine = () => lines.some((line) => line.event === event) && resolve()
        onLine()
      }),
  }
}
