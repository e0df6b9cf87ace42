import { EventEmitter } from 'node:events'

/** Collects the events of a run, and wakes waiting code after each event. */
export class Happenings {
  readonly #told = new EventEmitter().setMaxListeners(0)
  /** Violations, in the order in which they were noticed. */
  readonly faults: string[] = []
  readonly #goesOn: boolean

  /** `goesOn`: waits continue after a violation instead of rejecting. */
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

  /** Resolves once `holds` returns true. Rejects after `timeoutMs`, or at once after a violation. */
  async until(holds: () => boolean, description: string, timeoutMs = 60_000): Promise<void> {
    if (!(await this.#awaited(holds, timeoutMs)))
      throw new Error(`Within ${timeoutMs} ms it did not happen that ${description}.`)
  }

  /** Like {@link until}, but resolves after `timeoutMs` even if `holds` still returns false. */
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
