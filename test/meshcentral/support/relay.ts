import { WebSocket } from 'ws'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { until } from '../../support/until.ts'
import { type ControlSocket, openSocket } from './control-socket.ts'
import type { MeshSetup } from './mesh-setup.ts'

/** One end of a tunnel through MeshCentral's relay: a user who works on a device, or the device itself. */
export interface RelayEnd {
  /** Resolves to whether the other end has joined or the server has closed the tunnel. */
  verdict(): Promise<'joined' | 'closed'>
  /** Whether the tunnel is open: false as soon as the server closes it. */
  isOpen(): boolean
  /** Sends a text through the tunnel. @returns what the other end received */
  tell(receiver: RelayEnd, text: string): Promise<string>
  next(): Promise<string>
  close(): void
}

/**
 * @param server the address of its pages, or of its port for agents
 * @param query `id` of the tunnel, and `auth` of a page or `rauth` of a device
 */
export function openRelay(
  server: Pick<MeshSetup, 'url'>,
  query: Readonly<Record<string, string>>,
  browser?: ScriptedBrowser,
): RelayEnd {
  const url = new URL('meshrelay.ashx', server.url)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const socket = openSocket(url, browser)
  let joined = false
  socket.once('message', (data) => {
    // MeshCentral's message to both ends once both are connected.
    joined = String(data) === 'c'
  })
  const next = () =>
    new Promise<string>((resolve, reject) => {
      socket.once('message', (data) => resolve(String(data)))
      socket.once('close', () => reject(new Error('The tunnel was closed.')))
    })
  return {
    // Poll instead of waiting for the event: a socket that the server delays emits `close` only after half a minute.
    verdict: () =>
      until('the verdict on a tunnel', () => (joined ? 'joined' : socket.readyState > WebSocket.OPEN && 'closed')),
    isOpen: () => socket.readyState === WebSocket.OPEN,
    next,
    tell(receiver, text) {
      const heard = receiver.next()
      socket.send(text)
      return heard
    },
    close: () => socket.terminate(),
  }
}

/** Adds a device without an agent in a new group. @returns its id */
export async function addDevice(page: ControlSocket): Promise<string> {
  const { meshid } = await page.ask('createmesh', {
    ...{ meshname: 'Devices', meshtype: 3, relayid: 'none', responseid: 'group' },
  })
  page.send({
    ...{ action: 'addlocaldevice', meshid, type: 4, devicename: 'A device', hostname: '127.0.0.1' },
  })
  const { event } = await page.message(
    ({ action, event: details }) => action === 'event' && isNewNodeOf(details, meshid),
  )
  return (event as { readonly node: { readonly _id: string } }).node._id
}

function isNewNodeOf(event: unknown, group: unknown): boolean {
  if (typeof event !== 'object' || event === null || Reflect.get(event, 'action') !== 'addnode') return false
  return (event as { readonly node: { readonly meshid: unknown } }).node.meshid === group
}
