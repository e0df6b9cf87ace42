import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'

export type OnLoopback = Awaited<ReturnType<typeof onLoopback>>

/** Makes a server listen on 127.0.0.1, on a free port. */
export async function onLoopback(server: Server & { closeAllConnections?(): void }) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    /** Address of the server, without a slash at the end. */
    url: `http://127.0.0.1:${port}`,
    /** Closes the server at once. For HTTP, this includes all open connections. */
    async close() {
      const closed = once(server, 'close')
      server.close()
      server.closeAllConnections?.()
      await closed
    },
  }
}
