import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

export interface OnLoopback {
  readonly port: number
  /** Without a slash at the end. */
  readonly url: string
  /** At once, of HTTP with all its connections. */
  close(): Promise<void>
}

/** Has a server listen on 127.0.0.1, at a port that the system picks. */
export async function onLoopback(server: Server & { closeAllConnections?(): void }): Promise<OnLoopback> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections?.()
      await closed
    },
  }
}
