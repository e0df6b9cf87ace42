import { WebSocket } from 'ws'
import type { ScriptedBrowser } from '../../../fixtures/browser.ts'
import { until } from '../../support/until.ts'
import type { MeshSetup } from './mesh-setup.ts'
import { authCookieOn } from './session.ts'

export type Message = Readonly<Record<string, unknown>> & { readonly action?: string }

/** The web socket of an open page of MeshCentral. */
export interface ControlSocket {
  readonly messages: readonly Message[]
  send(message: object): void
  /** Resolves to the first message that matches, past ones included. */
  message(matches: (message: Message) => boolean): Promise<Message>
  /** Sends a request and resolves to its answer. */
  ask(action: string, more?: object): Promise<Message>
  readonly opened: Promise<void>
  /** Resolves when the server has closed the socket. */
  readonly closed: Promise<void>
  isOpen(): boolean
  close(): void
}

export interface OpenOptions {
  readonly domain?: string
  /** MeshCentral's own cookie, as the query parameter `auth`. */
  readonly auth?: string
  /** Other query parameters. */
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  /** The browser whose cookies are sent. Without a browser, the socket has no session. */
  readonly browser?: ScriptedBrowser
}

/** Opens a socket with the browser's cookies for the address, if any. */
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

/** Opens a control socket. Its messages show whether the server accepts it. */
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
  const message = (matches: (message: Message) => boolean) =>
    until('a message of the server', () => {
      const match = messages.find(matches)
      if (!match && socket.readyState === WebSocket.CLOSED) throw new Error(`closed: ${JSON.stringify(messages)}`)
      return match
    })
  return {
    messages,
    send: (order) => socket.send(JSON.stringify(order)),
    message,
    ask: async (action, more = {}) => {
      const countBefore = messages.length
      socket.send(JSON.stringify({ action, ...more }))
      return until(`an answer to ${action}`, () =>
        messages.slice(countBefore).find((message) => message.action === action),
      )
    },
    opened,
    closed,
    isOpen: () => socket.readyState === WebSocket.OPEN,
    close: () => socket.terminate(),
  }
}

/**
 * Acts as a signed-in page: loads itself and opens its socket with the cookie in it. Resolves once it knows its user.
 */
export async function openPage(
  setup: MeshSetup,
  browser: ScriptedBrowser,
  domain = '',
): Promise<ControlSocket & { readonly auth: string; readonly user: Message }> {
  const auth = authCookieOn(await browser.step(setup.urlOf(domain)))
  if (auth === undefined) throw new Error('the page is not that of a signed-in user')
  const socket = openControl(setup, { domain, auth, browser })
  const { userinfo } = await socket.message(({ action }) => action === 'userinfo')
  return { ...socket, auth, user: userinfo as Message }
}
