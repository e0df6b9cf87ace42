import { rmSync } from 'node:fs'
import { freePort } from '../../../fixtures/free-port.ts'
import { makeDataFolder } from './data-folder.ts'
import { installMeshCentral } from './installation.ts'
import { startMeshProcess } from './mesh-process.ts'

/** Shared by all test files of a process: the installation, and the certificates of a first start. */
export interface Laboratory {
  readonly installation: string
  /** A data folder to copy. */
  readonly template: string
  /**
   * The port of all servers, one after the other. For a different address, MeshCentral would sign its agents again,
   * which takes a second.
   */
  readonly port: number
}

let opened: Promise<Laboratory> | undefined

/** Opens the laboratory once. It is deleted when the process exits. */
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

/** The title of the default domain. Agents are signed with it. */
export const TITLE = 'Lab'

/** Signs session cookies. It must stay the same over a restart. */
export const SESSION_KEY = 'a session key that outlives a restart'

/**
 * Settings of a server on loopback that sends no request to the outside. `cert` is an address, because a name would
 * mean LAN mode.
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
