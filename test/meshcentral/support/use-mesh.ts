import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { type ControlSocket, openControl, openPage } from './control-socket.ts'
import { type MeshOptions, type MeshSetup, setUpMesh } from './mesh-setup.ts'
import { until } from './until.ts'

/** A MeshCentral for the tests of one block. Sockets that they open here are closed after each of them. */
export interface MeshOfTests extends MeshSetup {
  /** The page of somebody who is signed in, with its socket. */
  open(browser: ScriptedBrowser, domain?: string): ReturnType<typeof openPage>
  /** A socket with MeshCentral's own cookie and without any session. */
  openAlone(auth: string): ControlSocket
  /** What the server says to such a socket. */
  verdictOn(auth: string): Promise<'signed in' | 'refused'>
  /** Has something else closed after the test. */
  keep<Socket extends { close(): void }>(socket: Socket): Socket
}

/** Starts it before the first test of the block that this is called in; its members are there from then on. */
export function useMesh(options: MeshOptions | (() => MeshOptions | Promise<MeshOptions>) = {}): MeshOfTests {
  const sockets: { close(): void }[] = []
  const keep: MeshOfTests['keep'] = (socket) => {
    sockets.push(socket)
    return socket
  }
  const openAlone = (auth: string) => keep(openControl(mesh, { auth }))
  const mesh = {
    keep,
    openAlone,
    open: async (browser: ScriptedBrowser, domain = '') => keep(await openPage(mesh, browser, domain)),
    verdictOn: (auth: string) => verdictOf(openAlone(auth)),
  } as MeshOfTests
  before(async () => {
    Object.assign(mesh, await setUpMesh(typeof options === 'function' ? await options() : options))
  })
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.close()
  })
  after(() => mesh.close?.())
  return mesh
}

/** Whether the server lets a socket be. */
export async function verdictOf(socket: ControlSocket): Promise<'signed in' | 'refused'> {
  const { action } = await socket.message((told) => told.action === 'userinfo' || told.action === 'close')
  return action === 'userinfo' ? 'signed in' : 'refused'
}

/** Resolves once the server has closed all of them. */
export function closes(...sockets: readonly { isOpen(): boolean }[]): Promise<true> {
  return until('the server to close the sockets', () => sockets.every((one) => !one.isOpen()))
}
