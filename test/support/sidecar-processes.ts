import { type AprsIsServer, startAprsIs } from '../../fixtures/aprsis/server.ts'
import { passcodeOf } from '../../sidecar/aprs/passcode.ts'
import { createSidecarFolder, type SidecarFolder, type SidecarProcess, startSidecarProcess } from './sidecar-process.ts'

/** The login callsign of the sidecars. */
export const LOGIN = 'N0CALL-10'

/**
 * Gives each test an APRS-IS server, a folder, and sidecar processes that use them. All of them are removed after the
 * test. Call inside a `describe`.
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
    /**
     * Writes a configuration, and returns its path. By default, it uses the APRS-IS server and the folder of the test.
     */
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
    /** Whether a filter at the APRS-IS server contains the station. */
    asksFor: (key: string) => upstream.clients().some(({ filter }) => `${filter}/`.includes(`/${key}/`)),
  }
}
