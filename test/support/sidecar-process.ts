import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { JsonBody } from './running-api.ts'

export type LogLine = Readonly<Record<string, unknown>>

/** A folder for one sidecar's configuration and database. */
export interface SidecarFolder {
  readonly path: string
  /** Writes the configuration; on free ports, with a database in the folder, unless it says otherwise. */
  configure(config: object): Promise<string>
  remove(): Promise<void>
}

export async function createSidecarFolder(): Promise<SidecarFolder> {
  const path = await mkdtemp(join(tmpdir(), 'sidecar-'))
  const file = join(path, 'config.json')
  return {
    path,
    async configure(config) {
      await writeFile(file, JSON.stringify({ listen: { port: 0 }, admin: { port: 0 }, ...config }))
      return file
    },
    remove: () => rm(path, { recursive: true, force: true }),
  }
}

/** The command as users run it, in a process of its own. */
export interface SidecarProcess {
  /** Lines on stdout so far, parsed; one that is not JSON makes the test fail. */
  readonly lines: readonly LogLine[]
  /** Resolves with the first line of `event`, past ones included; rejects when the process ends without it. */
  logged(event: string): Promise<LogLine>
  /** Base address of the API, once it serves. */
  url(): Promise<string>
  adminUrl(): Promise<string>
  post(path: string, body: object): Promise<{ readonly status: number; readonly body: JsonBody }>
  kill(signal: NodeJS.Signals): void
  /** How it ended: exit code or signal, and what it wrote to stderr. */
  readonly ended: Promise<{ readonly outcome: number | NodeJS.Signals | null; readonly stderr: string }>
}

/** @param main of another version than this one */
export function startSidecarProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  main = 'sidecar/main.ts',
): SidecarProcess {
  const command = ['--import', 'tsx', main, ...args]
  const child: ChildProcess = spawn(process.execPath, command, { env: { ...process.env, ...env } })
  const lines: LogLine[] = []
  const arrived = new EventEmitter()
  let stderr = ''
  let over = false
  child.stderr?.on('data', (chunk) => {
    stderr += chunk
  })
  if (child.stdout)
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
      if (over) throw new Error(`The sidecar ended without "${event}": ${stderr}${JSON.stringify(lines.at(-1))}`)
      await once(arrived, 'change')
    }
  }

  const url = async () => String((await logged('listening')).url)
  return {
    lines,
    logged,
    url,
    adminUrl: async () => String((await logged('listening')).adminUrl),
    async post(path, body) {
      const answer = await fetch((await url()) + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
      return { status: answer.status, body: (await answer.json()) as JsonBody }
    },
    kill: (signal) => void child.kill(signal),
    ended,
  }
}
