import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/**
 * A TCP relay to a server on loopback. A test can cut it and restore it, as if the server crashed and returned at the
 * same address.
 */
export type TcpRelay = Awaited<ReturnType<typeof startTcpRelay>>

export async function startTcpRelay(targetPort: number) {
  const sockets = new Set<Socket>()
  let server: Server | undefined
  let port = 0
  let target = targetPort

  function join(from: Socket): void {
    const to = connect(target, '127.0.0.1')
    for (const [sender, receiver] of [
      [from, to],
      [to, from],
    ] as const) {
      sockets.add(sender)
      sender.pipe(receiver)
      sender.on('error', () => receiver.destroy())
      sender.on('close', () => {
        sockets.delete(sender)
        receiver.destroy()
      })
    }
  }

  /** Accepts connections again, on the same port. `next`: port of another server to which they now lead. */
  async function mend(next = target): Promise<void> {
    target = next
    if (server) return
    server = createServer(join).listen(port, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  }

  /** Resets all connections, and accepts no new ones. */
  async function cut(): Promise<void> {
    const cutting = server
    server = undefined
    if (!cutting) return
    const closed = new Promise((resolve) => cutting.close(resolve))
    for (const socket of sockets) socket.resetAndDestroy()
    await closed
  }

  /** Forwards no more data, but closes no connection, as if the server's machine had lost its power. */
  function silence(): void {
    for (const socket of sockets) socket.unpipe().pause()
  }

  await mend()
  return { port, cut, silence, mend, close: cut }
}
