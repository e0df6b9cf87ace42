/** Far more servers than one address leads to. Beyond it, the one that was found first is forgotten. */
const MAX_REMEMBERED = 200

/** The servers, by call, that answered neither of two `#filter` lines. */
export class SilentServers {
  readonly #calls = new Set<string>()

  has(server: string): boolean {
    return this.#calls.has(server)
  }

  /** Returns false if the server was known already. */
  add(server: string): boolean {
    if (this.#calls.has(server)) return false
    this.#calls.add(server)
    const [oldest] = this.#calls
    if (this.#calls.size > MAX_REMEMBERED && oldest !== undefined) this.#calls.delete(oldest)
    return true
  }

  delete(server: string): void {
    this.#calls.delete(server)
  }
}
