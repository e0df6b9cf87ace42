import { Socket } from 'node:net'

/**
 * The sockets of all connections to the database. {@link destroyAll} closes them at once, without waiting for the
 * server. After {@link refuse}, each new socket is destroyed before it connects.
 */
export class Sockets {
  readonly #open = new Set<Socket>()
  #isRefusing = false

  readonly open = (): Socket => {
    const socket = new Socket()
    if (this.#isRefusing) queueMicrotask(() => socket.destroy())
    this.#open.add(socket)
    return socket.once('close', () => this.#open.delete(socket))
  }

  refuse(): void {
    this.#isRefusing = true
  }

  destroyAll(): void {
    for (const socket of this.#open) socket.destroy()
  }
}
