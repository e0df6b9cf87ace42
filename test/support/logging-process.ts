import { spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { createInterface } from 'node:readline'

export type LogLine = Readonly<Record<string, unknown>>

/** A program of this project in a process of its own, which writes a JSON object a line. */
export type LoggingProcess = ReturnType<typeof startLoggingProcess>

/** @param env beside that of this process @param cwd where it runs, in place of here */
export function startLoggingProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  cwd = process.cwd(),
) {
  const child = spawn(process.execPath, ['--import', 'tsx', ...args], { cwd, env: { ...process.env, ...env } })
  /** Lines on stdout so far, parsed; one that is not JSON makes the test fail. */
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
  /** How it ended: exit code or signal, and what it wrote to stderr. */
  const ended = once(child, 'close').then(([code, signal]) => {
    over = true
    arrived.emit('change')
    return { outcome: (signal ?? code) as number | NodeJS.Signals | null, stderr }
  })

  /** Resolves with the first line of `event`, past ones included; rejects when the process ends without it. */
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
