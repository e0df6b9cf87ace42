import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

export type OnLoopback = Awaited<ReturnType<typeof onLoopback>>

/** Has a server listen on 127.0.0.1, at a port that the system picks. */
export async function onLoopback(server: Server & { closeAllConnections?(): void }) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    /** Without a slash at the end. */
    url: `http://127.0.0.1:${port}`,
    /** At once, of HTTP with all its connections. */
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections?.()
      await closed
    },
  }
}
