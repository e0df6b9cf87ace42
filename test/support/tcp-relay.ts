import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net'

/** A way to a server on loopback that can be cut and mended, as when that server dies and comes back at its address. */
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

  /** Takes connections again, at the same port; to another server where that is given. */
  async function mend(next = target): Promise<void> {
    target = next
    if (server) return
    server = createServer(join).listen(port, '127.0.0.1')
    await once(server, 'listening')
    port = (server.address() as AddressInfo).port
  }

  /** Resets every connection and takes no new one. */
  async function cut(): Promise<void> {
    const cutting = server
    server = undefined
    if (!cutting) return
    const closed = new Promise((resolve) => cutting.close(resolve))
    for (const socket of sockets) socket.resetAndDestroy()
    await closed
  }

  /** Passes nothing on any more, and keeps every connection, as when the machine behind it has lost its power. */
  function silence(): void {
    for (const socket of sockets) socket.unpipe().pause()
  }

  await mend()
  return { port, cut, silence, mend, close: cut }
}
