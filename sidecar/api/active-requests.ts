/** Counts the requests that the handler works on, so that the API closes only after them. */
export class ActiveRequests {
  #count = 0
  /** Resolve the promises of {@link ActiveRequests.allDone}. */
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
