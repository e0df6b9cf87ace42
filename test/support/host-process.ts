import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'

export { freePort } from '../../fixtures/free-port.ts'

export type LogLine = Readonly<Record<string, unknown>>

/** The reference host as users run it, in a process of its own. */
export interface HostProcess {
  /** With a slash at the end. */
  readonly url: string
  /** Lines on stdout so far, parsed. */
  readonly lines: readonly LogLine[]
  /** @returns its exit code */
  stop(): Promise<number | null>
}

/** Resolves once it serves. @param file the configuration @param env beside that of this process */
export async function startHostProcess(
  file: string,
  port: number,
  env: Readonly<Record<string, string>> = {},
): Promise<HostProcess> {
  const command = ['--import', 'tsx', 'fixtures/host/main.ts', '--config', file, '--port', String(port)]
  const child = spawn(process.execPath, command, { env: { ...process.env, ...env } })
  const ended = once(child, 'close')
  const lines: LogLine[] = []
  const listening = new Promise<void>((resolve) => {
    createInterface(child.stdout).on('line', (line) => {
      lines.push(JSON.parse(line) as LogLine)
      if (lines.at(-1)?.event === 'listening') resolve()
    })
  })
  let complaint = ''
  child.stderr.on('data', (chunk) => {
    complaint += chunk
  })
  await Promise.race([
    listening,
    ended.then(() => {
      throw new Error(`The host ended at once: ${complaint}${JSON.stringify(lines)}`)
    }),
  ])
  return {
    url: `http://127.0.0.1:${port}/`,
    lines,
    async stop() {
      child.kill('SIGTERM')
      return (await ended)[0] as number | null
    },
  }
}
