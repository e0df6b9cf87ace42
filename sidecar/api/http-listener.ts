import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isLoopback } from '../config/address-scope.ts'

/** An HTTP server that listens. */
export interface HttpListener {
  /** Scheme, host and port at which it can be reached from this machine. */
  readonly url: string
  /** Only this machine can reach it. */
  readonly loopback: boolean
  /** Takes no more connections, lets requests under way finish for a moment, then ends them. Twice is fine. */
  close(): Promise<void>
}

/**
 * How long requests under way may take when the server closes, in milliseconds: well below what the API may take in
 * all, on a busy machine too.
 */
const GRACE_MS = 500
const TIDY_MS = 50

/** What to do about an address that cannot be had, by the system's code. */
const REMEDIES: Readonly<Record<string, string>> = {
  EADDRINUSE: 'Another process has this port: stop it, or give listen.port or admin.port another one.',
  EACCES:
    'Ports below 1024 need a right that this user does not have: run the sidecar as the service that comes with it, or set listen.port to 1024 or above.',
  EADDRNOTAVAIL: 'This machine does not have this address: correct listen.host or admin.host.',
  EAFNOSUPPORT:
    'This machine has no IPv6: give an IPv4 address in listen.host or admin.host, or 0.0.0.0 in the place of ::.',
  ENOTFOUND: 'This name has no address: correct listen.host or admin.host.',
}

/** The port or address cannot be had; `code` is the system's, `remedy` what the operator should do. */
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

/** Starts to listen; rejects with a {@link ListenError} where that fails, as when the port is taken. */
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
      closed ??= closeGently(server)
      return closed
    },
  }
}

async function closeGently(server: Server): Promise<void> {
  const impatient = setTimeout(() => server.closeAllConnections(), GRACE_MS)
  // Only those that are idle right now end by themselves; the others become so one by one.
  const tidying = setInterval(() => server.closeIdleConnections(), TIDY_MS)
  await new Promise<void>((resolve) => server.close(() => resolve()))
  clearTimeout(impatient)
  clearInterval(tidying)
}

/** An address that stands for all of a machine's is shown as loopback, where it can be opened. */
function urlOf(scheme: string, { address, family, port }: AddressInfo): string {
  const shown = address === '0.0.0.0' ? '127.0.0.1' : address === '::' ? '::1' : address
  return `${scheme}://${family === 'IPv6' ? `[${shown}]` : shown}:${port}`
}
