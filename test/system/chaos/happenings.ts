import { EventEmitter } from 'node:events'

/** Collects all events of the test, so that waiting code can look again. */
export class Happenings {
  readonly #told = new EventEmitter().setMaxListeners(0)
  /** Violations, in the order in which they were noticed. */
  readonly faults: string[] = []
  readonly #goesOn: boolean

  /** `goesOn`: waiting goes on after a violation. */
  constructor({ goesOn = false } = {}) {
    this.#goesOn = goesOn
  }

  tell(): void {
    this.#told.emit('told')
  }

  blame(fault: string): void {
    this.faults.push(fault)
    this.tell()
  }

  /** Resolves once `holds` does; rejects after `timeoutMs`, or at once when something is to blame. */
  async until(holds: () => boolean, description: string, timeoutMs = 60_000): Promise<void> {
    if (!(await this.#awaited(holds, timeoutMs)))
      throw new Error(`Within ${timeoutMs} ms it did not happen that ${description}.`)
  }

  /** The same, but goes on after `timeoutMs` whether it holds or not. */
  async atMost(timeoutMs: number, holds: () => boolean): Promise<void> {
    await this.#awaited(holds, timeoutMs)
  }

  #awaited(holds: () => boolean, timeoutMs: number): Promise<boolean> {
    return new Promise((resolve, reject) => {
      const stop = () => {
        clearTimeout(deadline)
        this.#told.off('told', look)
      }
      const look = () => {
        if (this.faults.length > 0 && !this.#goesOn) {
          stop()
          reject(new Error(this.faults[0]))
        } else if (holds()) {
          stop()
          resolve(true)
        }
      }
      const deadline = setTimeout(() => {
        stop()
        resolve(false)
      }, timeoutMs)
      this.#told.on('told', look)
      look()
    })
  }
}
