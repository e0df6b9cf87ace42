import { rmSync } from 'node:fs'
import { freePort } from '../../../fixtures/free-port.ts'
import { makeDataFolder } from './data-folder.ts'
import { installMeshCentral } from './installation.ts'
import { startMeshProcess } from './mesh-process.ts'

/** What all files share that run in one process: the installation, and the certificates of a first start. */
export interface Laboratory {
  readonly installation: string
  /** A data folder to begin from. */
  readonly template: string
  /**
   * Where all servers listen, one after the other: MeshCentral signs its agents anew for every other address, which
   * takes a second.
   */
  readonly port: number
}

let opened: Promise<Laboratory> | undefined

/** Opened once; it goes with the process. */
export function laboratory(): Promise<Laboratory> {
  opened ??= open()
  return opened
}

async function open(): Promise<Laboratory> {
  const installation = await installMeshCentral()
  const { path: template, writeConfig } = await makeDataFolder()
  process.once('exit', () => rmSync(template, { recursive: true, force: true }))
  const port = await freePort()
  await writeConfig({ settings: serverSettings(port), domains: { '': { title: TITLE } } })
  const server = await startMeshProcess({ installation, dataPath: template, port })
  await server.stop()
  return { installation, template, port }
}

/** Of the default domain; agents are signed with it. */
export const TITLE = 'Lab'

/** Signs the cookies of sessions, and outlives a restart. */
export const SESSION_KEY = 'a session key that outlives a restart'

/**
 * Of a server on loopback, which asks nobody outside for anything. `cert` is a number, since a name would mean LAN
 * mode.
 */
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
    sessionKey: SESSION_KEY,
  }
}
