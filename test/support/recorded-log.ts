import { createLog, type LogLevel } from '../../sidecar/log.ts'

type Line = Readonly<Record<string, unknown>>

export type RecordedLog = ReturnType<typeof recordedLog>

/** Creates a log of the sidecar that records its lines. It is emptied before each test. Call inside a `describe`. */
export function recordedLog(level: LogLevel = 'debug') {
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
    /** The parsed lines so far. */
    lines,
    /** Returns the lines of one event. */
    of: (event: string) => lines.filter((line) => line.event === event),
    /** Returns the values of these members, a list for each line; with one member, the values themselves. */
    shown: (...names: readonly string[]) =>
      lines.map((line) => (names.length === 1 ? line[names[0]!] : names.map((name) => line[name]))),
    /** Resolves once a line of this event has been logged. */
    logged: (event: string) =>
      new Promise<void>((resolve) => {
        onLine = () => lines.some((line) => line.event === event) && resolve()
        onLine()
      }),
  }
}
