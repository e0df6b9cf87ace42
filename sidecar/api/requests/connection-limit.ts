import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { ClientAddress, ClientOfPeer } from './client-address.ts'

/**
 * If a client already has `max` open connections, closes each new connection of the client at once, without an answer
 * and before the TLS handshake. Idle connections cost a client nothing, and the server accepts a limited number of
 * them. Without this limit, one client could occupy all of them.
 *
 * Calls `onDropped` with the client for each closed connection. If the server closed the connection because of its own
 * limit, calls `onDropped` with undefined.
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
