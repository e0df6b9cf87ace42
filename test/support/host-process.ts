import { startLoggingProcess } from './logging-process.ts'

export { freePort } from '../../fixtures/free-port.ts'
export type { LogLine } from './logging-process.ts'

/** The reference host in its own process, as users run it. */
export type HostProcess = Awaited<ReturnType<typeof startHostProcess>>

/**
 * Starts the host, and resolves once it is listening.
 *
 * @param file the configuration
 * @param env additional environment variables
 */
export async function startHostProcess(file: string, port: number, env: Readonly<Record<string, string>> = {}) {
  const args = ['fixtures/host/main.ts', '--config', file, '--port', String(port)]
  const { lines, logged, kill, ended } = startLoggingProcess(args, env)
  await logged('listening')
  return {
    /** Address of the host, with a slash at the end. */
    url: `http://127.0.0.1:${port}/`,
    lines,
    told: logged,
    /** Stops the host. @returns its exit code; null if a signal ended it */
    async stop() {
      kill('SIGTERM')
      const { outcome } = await ended
      return typeof outcome === 'number' ? outcome : null
    },
  }
}
