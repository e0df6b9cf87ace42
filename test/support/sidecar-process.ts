import { createFolder } from './file-folder.ts'
import { startLoggingProcess } from './logging-process.ts'
import { callAt } from './running-api.ts'

export type { LogLine } from './logging-process.ts'

/** A folder for one sidecar's configuration and database. */
export type SidecarFolder = Awaited<ReturnType<typeof createSidecarFolder>>

export async function createSidecarFolder() {
  const { path, write, remove } = await createFolder('sidecar')
  return {
    path,
    /** Writes a configuration. By default, it uses free ports, and a database in the folder. */
    configure: (config: object) =>
      write('config.json', JSON.stringify({ listen: { port: 0 }, admin: { port: 0 }, ...config })),
    remove,
  }
}

/** The sidecar's command in its own process, as users run it. */
export type SidecarProcess = ReturnType<typeof startSidecarProcess>

/** @param main path of the entry file, which may belong to another version of the sidecar */
export function startSidecarProcess(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
  main = 'sidecar/main.ts',
) {
  const started = startLoggingProcess([main, ...args], env)
  const url = async () => String((await started.logged('listening')).url)
  return {
    ...started,
    /** Resolves with the base address of the API once it is listening. */
    url,
    adminUrl: async () => String((await started.logged('listening')).adminUrl),
    post: async (path: string, body: object) => callAt((await url()) + path, body),
  }
}
