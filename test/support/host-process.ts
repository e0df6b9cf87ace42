import { type LogLine, startLoggingProcess } from './logging-process.ts'

export { freePort } from '../../fixtures/free-port.ts'
export type { LogLine } from './logging-process.ts'

/** The reference host as users run it, in a process of its own. */
export interface HostProcess {
  /** With a slash at the end. */
  readonly url: string
  /** Lines on stdout so far, parsed. */
  readonly lines: readonly LogLine[]
  /** The first line of this event, once it is there. */
  told(event: string): Promise<LogLine>
  /** @returns its exit code */
  stop(): Promise<number | null>
}

/** Resolves once it serves. @param file the configuration @param env beside that of this process */
export async function startHostProcess(
  file: string,
  port: number,
  env: Readonly<Record<string, string>> = {},
): Promise<HostProcess> {
  const args = ['fixtures/host/main.ts', '--config', file, '--port', String(port)]
  const { lines, logged, kill, ended } = startLoggingProcess(args, env)
  await logged('listening')
  return {
    url: `http://127.0.0.1:${port}/`,
    lines,
    told: logged,
    async stop() {
      kill('SIGTERM')
      const { outcome } = await ended
      return typeof outcome === 'number' ? outcome : null
    },
  }
}
