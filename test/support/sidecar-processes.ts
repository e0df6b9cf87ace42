import { type AprsIsServer, startAprsIs } from '../../fixtures/aprsis/server.ts'
import { passcodeOf } from '../../sidecar/aprs/passcode.ts'
import { createSidecarFolder, type SidecarFolder, type SidecarProcess, startSidecarProcess } from './sidecar-process.ts'

/** Call of the sidecars' own login. */
export const LOGIN = 'N0CALL-10'

/**
 * An APRS-IS server, a folder, and sidecars as processes on both. All of it is removed after each test. Call inside a
 * `describe`.
 */
export function sidecarProcesses() {
  let upstream: AprsIsServer
  let folder: SidecarFolder
  let running: SidecarProcess[] = []

  beforeEach(async () => {
    upstream = await startAprsIs()
    folder = await createSidecarFolder()
  })
  afterEach(async () => {
    for (const sidecar of running) sidecar.kill('SIGKILL')
    await Promise.all(running.map(({ ended }) => ended))
    running = []
    await Promise.all([upstream.close(), folder.remove()])
  })

  return {
    get upstream() {
      return upstream
    },
    get folder() {
      return folder
    },
    /** Writes the configuration and gives its file: what `config` does not say fits the server and the folder. */
    configure({ aprsis = {}, ...config }: { aprsis?: object; [table: string]: unknown } = {}) {
      const { host, port } = upstream
      const login = { host, port, callsign: LOGIN, passcode: passcodeOf(LOGIN), filterDebounceMs: 0 }
      return folder.configure({ aprsis: { ...login, ...aprsis }, database: 'data/sidecar.sqlite', ...config })
    },
    start(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
      const sidecar = startSidecarProcess(args, env)
      running.push(sidecar)
      return sidecar
    },
    /** Whether APRS-IS has the station in a filter. */
    asksFor: (key: string) => upstream.clients().some(({ filter }) => `${filter}/`.includes(`/${key}/`)),
  }
}
