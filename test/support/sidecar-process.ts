import { createFolder } from './file-folder.ts'
import { type LoggingProcess, startLoggingProcess } from './logging-process.ts'
import type { JsonBody } from './running-api.ts'

export type { LogLine } from './logging-process.ts'

/** A folder for one sidecar's configuration and database. */
export interface SidecarFolder {
  readonly path: string
  /** Writes the configuration; on free ports, with a database in the folder, unless it says otherwise. */
  configure(config: object): Promise<string>
  remove(): Promise<void>
}

export async function createSidecarFolder(): Promise<SidecarFolder> {
  const { path, write, remove } = await createFolder('sidecar')
  return {
    path,
    configure: (config) => write('config.json', JSON.stringify({ listen: { port: 0 }, admin: { port: 0 }, ...config })),
    remove,
  }
}

/** The command as users run it, in a process of its own. */
export interface SidecarProcess extends LoggingProcess {
  /** Base address of the API, once it serves. */
  url(): Promise<string>
  adminUrl(): Promise<string>
  post(path: string, body: object): Promise<{ readonly status: number; readonly body: JsonBody }>
}

/** @param main of another version than this one */
export function startSidecarProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  main = 'sidecar/main.ts',
): SidecarProcess {
  const started = startLoggingProcess([main, ...args], env)
  const url = async () => String((await started.logged('listening')).url)
  return {
    ...started,
    url,
    adminUrl: async () => String((await started.logged('listening')).adminUrl),
    async post(path, body) {
      const answer = await fetch((await url()) + path, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json' },
        body: JSON.stringify(body),
      })
      return { status: answer.status, body: (await answer.json()) as JsonBody }
    },
  }
}
