import { EventEmitter } from 'node:events'

/** Everything that happens in the test tells of itself here, so that whoever waits can look again. */
export class Happenings {
  readonly #told = new EventEmitter().setMaxListeners(0)
  /** What must not have happened, in the order in which it was noticed. */
  readonly faults: string[] = []
  readonly #goesOn: boolean

  /** `goesOn`: whoever waits goes on waiting when something is to blame. */
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
  async until(holds: () => boolean, what: string, timeoutMs = 60_000): Promise<void> {
    if (!(await this.#awaited(holds, timeoutMs)))
      throw new Error(`Within ${timeoutMs} ms it did not happen that ${what}.`)
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
