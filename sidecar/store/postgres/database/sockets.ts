import { Socket } from 'node:net'

/** The sockets of all connections to the database. {@link destroyAll} closes them without waiting for the server. */
export class Sockets {
  readonly #open = new Set<Socket>()
  #isRefusing = false

  readonly open = (): Socket => {
    const socket = new Socket()
    if (this.#isRefusing) queueMicrotask(() => socket.destroy())
    this.#open.add(socket)
    return socket.once('close', () => this.#open.delete(socket))
  }

  /** Destroys each new socket before it connects. */
  refuse(): void {
    this.#isRefusing = true
  }

  destroyAll(): void {
    for (const socket of this.#open) socket.destroy()
  }
}
