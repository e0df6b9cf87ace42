import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { ClientAddress, ClientOfPeer } from './client-address.ts'

/**
 * Ends each connection of a client beyond `max` at once, without a byte and, where there is TLS, before any of that. An
 * idle connection costs its owner nothing, and there is room for so many only: without this, one client takes it all.
 * `onDropped` is called with the client, and without one for a connection beyond the room for all, which is many
 * clients' doing.
 */
export function limitConnections(
  server: Server,
  max: number,
  clientOf: ClientOfPeer,
  onDropped: (client: ClientAddress | undefined) => void,
): void {
  const counts = new Map<ClientAddress, number>()

  function closed(client: ClientAddress): void {
    const left = (counts.get(client) ?? 1) - 1
    if (left > 0) counts.set(client, left)
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
