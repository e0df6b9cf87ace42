import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createInterface } from 'node:readline'

export type LogLine = Readonly<Record<string, unknown>>

/** A program of this project in a process of its own, which writes a JSON object a line. */
export interface LoggingProcess {
  /** Lines on stdout so far, parsed; one that is not JSON makes the test fail. */
  readonly lines: readonly LogLine[]
  /** Resolves with the first line of `event`, past ones included; rejects when the process ends without it. */
  logged(event: string): Promise<LogLine>
  kill(signal: NodeJS.Signals): void
  /** How it ended: exit code or signal, and what it wrote to stderr. */
  readonly ended: Promise<{ readonly outcome: number | NodeJS.Signals | null; readonly stderr: string }>
}

/** @param env beside that of this process @param cwd where it runs, in place of here */
export function startLoggingProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = process.cwd(),
): LoggingProcess {
  const child = spawn(process.execPath, ['--import', 'tsx', ...args], { cwd, env: { ...process.env, ...env } })
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
  const ended = once(child, 'close').then(([code, signal]) => {
    over = true
    arrived.emit('change')
    return { outcome: signal ?? code, stderr }
  })

  async function logged(event: string): Promise<LogLine> {
    for (;;) {
      const line = lines.find((candidate) => candidate.event === event)
      if (line) return line
      if (over) throw new Error(`It ended without "${event}": ${stderr}${JSON.stringify(lines.at(-1))}`)
      await once(arrived, 'change')
    }
  }

  return { lines, logged, kill: (signal) => void child.kill(signal), ended }
}
