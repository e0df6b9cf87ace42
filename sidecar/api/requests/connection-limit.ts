import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { ClientAddress, ClientOfPeer } from './client-address.ts'

/**
 * Closes a client's connections beyond `max`, without an answer, before the TLS handshake. Idle ones cost nothing, so
 * one client could occupy all that the server accepts.
 *
 * @param onDropped called for each closed connection; without a client if the server's own limit closed it
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
