import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { until } from '../../support/until.ts'
import { type ControlSocket, openControl, openPage } from './control-socket.ts'
import { type MeshOptions, type MeshSetup, setUpMesh } from './mesh-setup.ts'

/** A MeshCentral for the tests of one block. Sockets that a test opens here are closed after it. */
export interface MeshOfTests extends MeshSetup {
  /** Opens the page of a signed-in user, with its socket. */
  open(browser: ScriptedBrowser, domain?: string): ReturnType<typeof openPage>
  /** Opens a socket with MeshCentral's own cookie and no session. */
  openAlone(auth: string): ControlSocket
  /** Returns whether the server accepts such a socket. */
  verdictOn(auth: string): Promise<'signed in' | 'refused'>
  /** Closes something else after the test. */
  keep<Socket extends { close(): void }>(socket: Socket): Socket
}

/** Starts MeshCentral before the first test of the calling block. The members exist from then on. */
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

/** Returns whether the server accepts a socket. */
export async function verdictOf(socket: ControlSocket): Promise<'signed in' | 'refused'> {
  const { action } = await socket.message((message) => message.action === 'userinfo' || message.action === 'close')
  return action === 'userinfo' ? 'signed in' : 'refused'
}

/** Resolves once the server has closed all of these sockets. */
export function closes(...sockets: readonly { isOpen(): boolean }[]): Promise<true> {
  return until('the server to close the sockets', () => sockets.every((socket) => !socket.isOpen()))
}
