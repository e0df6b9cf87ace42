import { connect, type Socket } from 'node:net'

/** Parameters of the attacking program. */
export interface AttackOrder {
  readonly port: number
  /** Complete requests with headers and body. Each address sends all of them. */
  readonly requests: readonly string[]
  /** Addresses of this machine from which the requests come. */
  readonly addresses: readonly string[]
  /** Number of connections from each address. */
  readonly connections: number
  readonly durationMs: number
}

/**
 * Sends all requests from each address at once, spread over its connections. Reads the answers as slowly as possible,
 * at some KB per second. If the server ends a connection, a new one sends its remaining requests.
 */
export async function attack({ port, requests, addresses, connections, durationMs }: AttackOrder): Promise<void> {
  const sockets = new Set<Socket>()
  for (const localAddress of addresses)
    for (let index = 0; index < connections; index += 1) {
      const socket = connect({ port, host: '127.0.0.1', localAddress })
      sockets.add(socket)
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket))
      for (let turn = index; turn < requests.length; turn += connections) socket.write(requests[turn] as string)
      socket.pause()
    }
  await new Promise<void>((resolve) => setTimeout(resolve, durationMs))
  for (const socket of sockets) socket.destroy()
}
