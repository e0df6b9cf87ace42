import { rmSync } from 'node:fs'
import { freePort } from '../../../fixtures/free-port.ts'
import { makeDataFolder } from './data-folder.ts'
import { replaceDevicePrograms } from './device-programs.ts'
import { installMeshCentral } from './installation.ts'
import { startMeshProcess } from './mesh-process.ts'

/** Shared by all test files of a process: the installation, and the certificates of a first start. */
export interface Laboratory {
  readonly installation: string
  /** A data folder to copy. */
  readonly template: string
  /** The port of all servers, one after the other. */
  readonly port: number
}

/** Name of the environment variable with the data folder that all processes of a test run copy. */
const TEMPLATE = 'MESHCENTRAL_TEMPLATE'

let opened: Promise<Laboratory> | undefined

/** Opens the laboratory once. */
export function laboratory(): Promise<Laboratory> {
  opened ??= open()
  return opened
}

async function open(): Promise<Laboratory> {
  const [installation, port] = await Promise.all([installMeshCentral(), freePort()])
  return { installation, template: process.env[TEMPLATE] ?? (await makeTemplate(installation, port)), port }
}

/** Makes the template once before all files of a run. Their processes learn its path by their environment. */
export async function mochaGlobalSetup(): Promise<void> {
  const { template } = await laboratory()
  process.env[TEMPLATE] = template
}

/** Makes a data folder by a first start, for all servers to copy. It is deleted when the process exits. */
async function makeTemplate(installation: string, port: number): Promise<string> {
  const { path, writeConfig } = await makeDataFolder()
  process.once('exit', () => rmSync(path, { recursive: true, force: true }))
  await replaceDevicePrograms(installation, path)
  await writeConfig({ settings: serverSettings(port), domains: { '': { title: TITLE } } })
  const server = await startMeshProcess({ installation, dataPath: path, port })
  await server.stop()
  return path
}

/** The title of the default domain. */
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
