import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isLoopback } from '../config/address-scope.ts'

/** A listening HTTP server. */
export interface HttpListener {
  /** URL for clients on this machine, with scheme, host and port. */
  readonly url: string
  /** Whether the server listens on a loopback address, which only this machine can reach. */
  readonly loopback: boolean
  /**
   * Accepts no more connections. Closes the open ones when their requests end, or after {@link GRACE_MS}. Idempotent.
   */
  close(): Promise<void>
}

/**
 * Milliseconds that open requests may take once the server begins to close. This is well below the time limit for
 * stopping the whole API, even on a busy machine.
 */
const GRACE_MS = 500
const TIDY_MS = 50

/** Remedies for an address on which the server cannot listen, by the system's error code. */
const REMEDIES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Another process uses this port. Stop it, or set listen.port or admin.port to another one.',
  EACCES:
    'Ports below 1024 need a privilege that this user lacks. Run the sidecar as the systemd service in the package, or set listen.port to 1024 or above.',
  EADDRNOTAVAIL: 'The address does not belong to this machine. Correct listen.host or admin.host.',
  EAFNOSUPPORT:
    'This machine has no IPv6. Set listen.host or admin.host to an IPv4 address, or to 0.0.0.0 instead of ::.',
  ENOTFOUND: 'This host name has no address. Correct listen.host or admin.host.',
}

/** The error if the server cannot listen. `code` is the system's error code; `remedy` tells the operator what to do. */
export class ListenError extends Error {
  override readonly name = 'ListenError'
  readonly code: string
  readonly remedy: string

  constructor(cause: NodeJS.ErrnoException) {
    super(cause.message, { cause })
    this.code = cause.code ?? 'unknown'
    this.remedy = REMEDIES[this.code] ?? 'Check host and port in listen and admin.'
  }
}

/** Starts to listen. Rejects with a {@link ListenError}, for example if the port is in use. */
export async function listenHttp(
  server: Server,
  scheme: 'http' | 'https',
  host: string,
  port: number,
): Promise<HttpListener> {
  await new Promise<void>((resolve, reject) => {
    const refuse = (error: Error) => reject(new ListenError(error))
    server.once('error', refuse)
    server.listen({ host, port }, () => {
      server.off('error', refuse)
      resolve()
    })
  })
  const address = server.address() as AddressInfo
  let closed: Promise<void> | undefined
  return {
    url: urlOf(scheme, address),
    loopback: isLoopback(address.address),
    close() {
      closed ??= closeGracefully(server)
      return closed
    },
  }
}

async function closeGracefully(server: Server): Promise<void> {
  const deadline = setTimeout(() => server.closeAllConnections(), GRACE_MS)
  // `server.close` closes only connections that are idle at that moment. The timer closes the others as they become
  // idle.
  const tidying = setInterval(() => server.closeIdleConnections(), TIDY_MS)
  await new Promise<void>((resolve) => server.close(() => resolve()))
  clearTimeout(deadline)
  clearInterval(tidying)
}

/** Returns the server's URL. A wildcard address becomes a loopback address, so that a client can open the URL. */
function urlOf(scheme: string, { address, family, port }: AddressInfo): string {
  const shown = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  return `${scheme}://${family === 'IPv6' ? `[${shown}]` : shown}:${port}`
}
