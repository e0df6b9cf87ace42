import { connect, type Socket } from 'node:net'

/** Orders for the attacking program. */
export interface AttackOrder {
  readonly port: number
  /** Whole requests as they go over the wire; each address sends all of them. */
  readonly requests: readonly string[]
  /** Addresses of this machine that it calls from. */
  readonly addresses: readonly string[]
  /** For each address. */
  readonly connections: number
  readonly durationMs: number
}

/**
 * Sends all requests from each address at once, spread over its connections, and reads of the answers as little as
 * there is: some KB a second. A connection that the server ends is opened again for the requests that it has left.
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
