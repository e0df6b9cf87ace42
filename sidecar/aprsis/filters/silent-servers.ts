/**
 * Maximum number of servers to remember. A host name resolves to far fewer servers. Above the limit, the oldest entry
 * is dropped.
 */
const MAX_REMEMBERED = 200

/** The names of servers that answered neither of two `#filter` lines. */
export class SilentServers {
  readonly #servers = new Set<string>()

  has(server: string): boolean {
    return this.#servers.has(server)
  }

  /** Adds a server. Returns false if it was added before. */
  add(server: string): boolean {
    if (this.#servers.has(server)) return false
    this.#servers.add(server)
    const [oldest] = this.#servers
    if (this.#servers.size > MAX_REMEMBERED && oldest !== undefined) this.#servers.delete(oldest)
    return true
  }

  delete(server: string): void {
    this.#servers.delete(server)
  }
}
