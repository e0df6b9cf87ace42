import { WebSocket } from 'ws'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import type { MeshSetup } from './mesh-setup.ts'
import { authCookieOn } from './session.ts'
import { until } from './until.ts'

export type Message = Readonly<Record<string, unknown>> & { readonly action?: string }

/** The web socket that an open page of MeshCentral hangs on. */
export interface ControlSocket {
  readonly messages: readonly Message[]
  send(message: object): void
  /** The first message that is so, past ones included. */
  message(is: (message: Message) => boolean): Promise<Message>
  /** The answer to an order. */
  ask(action: string, more?: object): Promise<Message>
  readonly opened: Promise<void>
  /** Resolves when the server has closed it. */
  readonly closed: Promise<void>
  isOpen(): boolean
  close(): void
}

export interface OpenOptions {
  readonly domain?: string
  /** MeshCentral's own cookie, in the address. */
  readonly auth?: string
  /** Other parameters of the address. */
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** Without it the socket comes without any session. */
  readonly browser?: ScriptedBrowser
}

/** A socket with the cookies that the browser has for that address, if it comes with any. */
export function openSocket(address: URL, browser?: ScriptedBrowser, headers: OpenOptions['headers'] = {}): WebSocket {
  const cookie = browser?.cookies.header(address)
  const url = new URL(address)
  url.protocol = 'wss:'
  url.hostname = '127.0.0.1'
  const socket = new WebSocket(url, {
    rejectUnauthorized: false,
    handshakeTimeout: 10_000,
    headers: { ...headers, host: address.host, ...(cookie === undefined ? {} : { cookie }) },
  })
  socket.on('error', () => socket.terminate())
  return socket
}

/** Opens it; whether the server then lets it be is seen in the messages. */
export function openControl(
  setup: MeshSetup,
  { domain = '', auth, query = {}, headers, browser }: OpenOptions,
): ControlSocket {
  const url = new URL('control.ashx', setup.urlOf(domain))
  if (auth !== undefined) url.searchParams.set('auth', auth)
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value)
  const socket = openSocket(url, browser, headers)
  const messages: Message[] = []
  socket.on('message', (data) => {
    messages.push(JSON.parse(String(data)) as Message)
  })
  const opened = new Promise<void>((resolve) => {
    socket.once('open', () => resolve())
  })
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => resolve())
  })
  const message = (is: (message: Message) => boolean) =>
    until('a message of the server', () => {
      const found = messages.find(is)
      if (!found && socket.readyState === WebSocket.CLOSED) throw new Error(`closed: ${JSON.stringify(messages)}`)
      return found
    })
  return {
    messages,
    send: (order) => socket.send(JSON.stringify(order)),
    message,
    ask: async (action, more = {}) => {
      const before = messages.length
      socket.send(JSON.stringify({ action, ...more }))
      return until(`an answer to ${action}`, () => messages.slice(before).find((one) => one.action === action))
    },
    opened,
    closed,
    isOpen: () => socket.readyState === WebSocket.OPEN,
    close: () => socket.terminate(),
  }
}

/**
 * What a signed-in page does: fetches itself, and opens its socket with the cookie that stands in it. Resolves once it
 * knows its user.
 */
export async function openPage(
  setup: MeshSetup,
  browser: ScriptedBrowser,
  domain = '',
): Promise<ControlSocket & { readonly auth: string; readonly user: Message }> {
  const auth = authCookieOn(await browser.step(setup.urlOf(domain)))
  if (auth === undefined) throw new Error('the page is not that of somebody who is signed in')
  const socket = openControl(setup, { domain, auth, browser })
  const { userinfo } = await socket.message(({ action }) => action === 'userinfo')
  return { ...socket, auth, user: userinfo as Message }
}
