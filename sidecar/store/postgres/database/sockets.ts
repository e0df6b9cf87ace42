import { Socket } from 'node:net'

/**
 * The sockets of all connections. A server that does not answer cannot keep one open: {@link destroyAll} needs no
 * answer. After {@link refuse}, new sockets are destroyed as soon as something connects them.
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
