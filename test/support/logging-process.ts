import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createInterface } from 'node:readline'
import { TYPESCRIPT } from './typescript/options.ts'

export type LogLine = Readonly<Record<string, unknown>>

/** A program of this project in its own process. Each line that it writes is a JSON object. */
export type LoggingProcess = ReturnType<typeof startLoggingProcess>

/** @param env additional environment variables @param cwd working directory; by default that of this process */
export function startLoggingProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = process.cwd(),
) {
  const child = spawn(process.execPath, [...TYPESCRIPT, ...args], { cwd, env: { ...process.env, ...env } })
  /** The parsed lines on stdout so far. A line that is not JSON makes the test fail. */
  const lines: LogLine[] = []
  const arrived = new EventEmitter()
  let stderr = ''
  let over = false
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  createInterface(child.stdout).on('line', (line) => {
    lines.push(JSON.parse(line))
    arrived.emit('change')
  })
  /** Resolves when the process ends, with its exit code or signal and its output on stderr. */
  const ended = once(child, 'close').then(([code, signal]) => {
    over = true
    arrived.emit('change')
    return { outcome: (signal ?? code) as number | NodeJS.Signals | null, stderr }
  })

  /**
   * Resolves with the first line of `event`, which may have been logged before. Rejects if the process ends without
   * such a line.
   */
  async function logged(event: string): Promise<LogLine> {
    for (;;) {
      const line = lines.find((candidate) => candidate.event === event)
      if (line) return line
      if (over) throw new Error(`It ended without "${event}": ${stderr}${JSON.stringify(lines.at(-1))}`)
      await once(arrived, 'change')
    }
  }

  return { lines, logged, kill: (signal: NodeJS.Signals) => void child.kill(signal), ended }
}
