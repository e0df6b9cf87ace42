import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** An HTTP server that listens. */
export interface HttpListener {
  /** Scheme, host and port at which it can be reached from this machine. */
  readonly url: string
  /** Only this machine can reach it. */
  readonly loopback: boolean
  /** Takes no more connections, lets requests under way finish for a moment, then ends them. Twice is fine. */
  close(): Promise<void>
}

/** How long requests under way may take when the server closes, in milliseconds. */
const GRACE_MS = 700
const TIDY_MS = 50

/** Starts to listen; rejects where that fails, as when the port is taken. */
export async function listenHttp(
  server: Server,
  scheme: 'http' | 'https',
  host: string,
  port: number,
): Promise<HttpListener> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ host, port }, () => {
      server.off('error', reject)
      resolve()
    })
  })
  const address = server.address() as AddressInfo
  let closed: Promise<void> | undefined
  return {
    url: urlOf(scheme, address),
    loopback: /^(127\.|::1$|::ffff:127\.)/.test(address.address),
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
