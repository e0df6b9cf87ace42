/** Counts the active requests. The API closes the store only after the last of them has ended. */
export class ActiveRequests {
  #count = 0
  /** The `resolve` functions of the promises that {@link ActiveRequests.allDone} returned. */
  #waiting: (() => void)[] = []

  begin(): void {
    this.#count += 1
  }

  end(): void {
    this.#count -= 1
    if (this.#count > 0) return
    for (const resolve of this.#waiting) resolve()
    this.#waiting = []
  }

  /** Resolves once no request is active. */
  allDone(): Promise<void> {
    return this.#count === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve))
  }
}
