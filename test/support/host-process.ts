import { startLoggingProcess } from './logging-process.ts'

export { freePort } from '../../fixtures/free-port.ts'
export type { LogLine } from './logging-process.ts'

/** The reference host as users run it, in a process of its own. */
export type HostProcess = Awaited<ReturnType<typeof startHostProcess>>

/** Resolves once it serves. @param file the configuration @param env beside that of this process */
export async function startHostProcess(file: string, port: number, env: Readonly<Record<string, string>> = {}) {
  const args = ['fixtures/host/main.ts', '--config', file, '--port', String(port)]
  const { lines, logged, kill, ended } = startLoggingProcess(args, env)
  await logged('listening')
  return {
    /** With a slash at the end. */
    url: `http://127.0.0.1:${port}/`,
    lines,
    told: logged,
    /** @returns its exit code */
    async stop() {
      kill('SIGTERM')
      const { outcome } = await ended
      return typeof outcome === 'number' ? outcome : null
    },
  }
}
