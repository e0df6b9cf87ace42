import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { ClientAddress, ClientOfPeer } from './client-address.ts'

/**
 * Ends each connection of a client beyond `max` at once, without an answer and before the TLS handshake. Idle
 * connections cost a client nothing, and their number is limited, so without this one client could take all of them.
 * Calls `onDropped` with the client, or with undefined if the server as a whole has no connection left.
 */
export function limitConnections(
  server: Server,
  max: number,
  clientOf: ClientOfPeer,
  onDropped: (client: ClientAddress | undefined) => void,
): void {
  const counts = new Map<ClientAddress, number>()

  function closed(client: ClientAddress): void {
    const remaining = (counts.get(client) ?? 1) - 1
    if (remaining > 0) counts.set(client, remaining)
    else counts.delete(client)
  }

  server.on('drop', () => onDropped(undefined))
  server.prependListener('connection', (socket: Socket) => {
    const client = clientOf(socket.remoteAddress)
    if (client === undefined) return
    const count = (counts.get(client) ?? 0) + 1
    if (count > max) {
      onDropped(client)
      socket.destroy()
      return
    }
    counts.set(client, count)
    socket.once('close', () => closed(client))
  })
}
