import { freePort } from '../../../fixtures/free-port.ts'
import { type DataFolder, makeDataFolder } from './data-folder.ts'
import { INSTALL_LIMIT_MS, type Installation, installMeshCentral } from './installation.ts'
import { startMeshProcess } from './mesh-process.ts'

/** What all files of a run share: the installation, and the certificates of a first start. */
export interface Laboratory {
  readonly installation: string
  /** A data folder to begin from. */
  readonly template: string
  /** Where all servers listen, one after the other: MeshCentral signs its agents anew for every other address, which takes a second. */
  readonly port: number
}

let opened: Promise<Opened> | undefined

interface Opened {
  readonly installed: Installation
  readonly first: DataFolder
  readonly port: number
}

/** Opened once, until `closeLaboratory`. */
export async function laboratory(): Promise<Laboratory> {
  opened ??= open()
  const { installed, first, port } = await opened
  return { installation: installed.folder, template: first.path, port }
}

export async function closeLaboratory(): Promise<void> {
  const { installed, first } = (await opened?.catch(() => undefined)) ?? {}
  opened = undefined
  await first?.remove()
  await installed?.remove()
}

async function open(): Promise<Opened> {
  const installed = await installMeshCentral()
  const first = await makeDataFolder()
  try {
    const port = await freePort()
    await first.writeConfig({ settings: serverSettings(port), domains: { '': { title: TITLE } } })
    const server = await startMeshProcess({ installation: installed.folder, dataPath: first.path, port })
    await server.stop()
    return { installed, first, port }
  } catch (error) {
    await first.remove()
    await installed.remove()
    throw error
  }
}

/** Of the default domain; agents are signed with it. */
export const TITLE = 'Lab'

/** Of a server on loopback, which asks nobody outside for anything. `cert` is a number, since a name would mean LAN mode. */
export function serverSettings(port: number): Readonly<Record<string, unknown>> {
  return {
    cert: '127.0.0.1',
    port,
    portBind: '127.0.0.1',
    exactPorts: true,
    redirPort: 0,
    mpsPort: 0,
    wanonly: true,
    minify: false,
    selfUpdate: false,
    autoBackup: false,
    agentTimeStampServer: false,
    agentsInRam: false,
    sessionKey: 'a session key that outlives a restart',
  }
}

/** Opened before the first of all files, closed after the last. */
export function useLaboratory(): void {
  before(async function () {
    // A download at first.
    this.timeout(INSTALL_LIMIT_MS + 60_000)
    await laboratory()
  })
  after(closeLaboratory)
}
