import type { Clock } from '../../../clock.ts'
import { parseDeviceKey } from '../../../messages/station.ts'
import { readSql } from '../../read-sql.ts'
import type { Database, Transaction, Write } from '../database/database.ts'

// How long marks gather. Outcomes arrive one by one. Written as they arrived, 2,000 of them took 159 disk flushes;
// gathered, they take 22.
const GATHER_MS = 100

const MARK_PUSHED = readSql(new URL('./mark-pushed.sql', import.meta.url))

/**
 * Records in the file up to which stamp each device was notified.
 *
 * Marks gather until the last claim in progress ends, or until a claim ends when the first mark is at least {@link
 * GATHER_MS} old. Then all marks are written at once. If that fails, the next end of a claim tries again. {@link seal}
 * writes the rest. A device is notified again only if the process dies before its mark is written.
 */
export class PushMarks {
  readonly #database: Database
  readonly #clock: Pick<Clock, 'elapsed'>
  /** Stamps that are not in the file yet, by the key of the device. */
  readonly #unwritten = new Map<string, number>()
  /** When the first mark of the waiting batch was added, in elapsed milliseconds; undefined if no mark waits. */
  #gatheringSince: number | undefined
  #claims = 0

  constructor(database: Database, clock: Pick<Clock, 'elapsed'>) {
    this.#database = database
    this.#clock = clock
  }

  /** Records that `claims` more claims began. */
  began(claims: number): void {
    this.#claims += claims
  }

  /** Marks the device as notified up to `stamp`. */
  add(device: string, stamp: number): void {
    this.#unwritten.set(device, stamp)
    this.#gatheringSince ??= this.#clock.elapsed()
  }

  /** If `isClaim`, records that a claim ended. Writes the marks if they are due. */
  async ended(isClaim: boolean): Promise<void> {
    if (isClaim) this.#claims -= 1
    const since = this.#gatheringSince
    if (since === undefined || (this.#claims > 0 && this.#clock.elapsed() - since < GATHER_MS)) return
    this.#gatheringSince = undefined
    try {
      await this.#database.write(this.#write, undefined)
    } catch (error) {
      this.#gatheringSince = since
      throw error
    }
  }

  /** Writes all marks with `tx`. */
  async seal(tx: Transaction): Promise<void> {
    if (this.#unwritten.size > 0) await this.#write.run(tx, [])
  }

  readonly #write: Write<void, void> = {
    run: async (tx, inputs) => {
      const marks = [...this.#unwritten]
      await tx.last(MARK_PUSHED, JSON.stringify(marks.map(([device, stamp]) => [...parseDeviceKey(device), stamp])))
      tx.onCommit(() => {
        for (const [device, stamp] of marks) if (this.#unwritten.get(device) === stamp) this.#unwritten.delete(device)
      })
      return inputs
    },
  }
}
