import type { Clock } from '../../../clock.ts'
import type { PushResult, PushResultKind } from '../../../messages/reports/push-result.ts'
import { parseDeviceKey } from '../../../messages/station.ts'
import { readSql } from '../../read-sql.ts'
import type { Database, Transaction, Write } from '../database/database.ts'

// Push marks gather this long before they are written. 2,000 marks then take 22 disk flushes instead of 159.
const GATHER_MS = 100

const MARK_PUSHED = readSql(new URL('./mark-pushed.sql', import.meta.url))

/** The outcome of a device's notification, as written to the file. */
export interface PushMark {
  /** Stamp up to which the device was notified of messages. */
  readonly stamp: number
  /** The result of the last try to notify the device; undefined to keep the result in the file. */
  readonly result: PushResult | undefined
}

/**
 * Writes *marks* to the file: up to which stamp a device was notified, and how the last try ended.
 *
 * Marks gather in memory. They are written when a claim ends, if no other is in progress or the oldest mark is
 * {@link GATHER_MS} old. The end of the next claim repeats a failed write. A device is notified twice only if the
 * process dies before.
 */
export class PushMarks {
  readonly #database: Database
  readonly #clock: Pick<Clock, 'elapsed'>
  /** Push marks that are not in the file yet, by {@link deviceKey}. */
  readonly #unwritten = new Map<string, PushMark>()
  /** Elapsed time in milliseconds at which the first waiting push mark was added; undefined if none waits. */
  #gatheringSince: number | undefined
  #claims = 0

  constructor(database: Database, clock: Pick<Clock, 'elapsed'>) {
    this.#database = database
    this.#clock = clock
  }

  /** Increases the number of claims in progress by `claims`. */
  began(claims: number): void {
    this.#claims += claims
  }

  /** Adds or replaces the push mark of a device. */
  add(device: string, { stamp, result }: PushMark): void {
    this.#unwritten.set(device, { stamp, result: result ?? this.resultOf(device) })
    this.#gatheringSince ??= this.#clock.elapsed()
  }

  /**
   * Returns the result of the last try to notify the device; undefined if only the file has it, or if there is none.
   */
  resultOf(device: string): PushResult | undefined {
    return this.#unwritten.get(device)?.result
  }

  /** If `isClaim` is true, records that a claim ended. In any case, writes the push marks if they are due. */
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

  /** Writes all unwritten push marks with `tx`. */
  async seal(tx: Transaction): Promise<void> {
    if (this.#unwritten.size > 0) await this.#write.run(tx, [])
  }

  readonly #write: Write<void, void> = {
    run: async (tx, inputs) => {
      const marks = [...this.#unwritten]
      await tx.last(MARK_PUSHED, JSON.stringify(marks.map(([device, mark]) => rowOf(device, mark))))
      tx.onCommit(() => {
        for (const [device, mark] of marks) if (this.#unwritten.get(device) === mark) this.#unwritten.delete(device)
      })
      return inputs
    },
  }
}

function rowOf(device: string, { stamp, result }: PushMark): readonly (string | number | null)[] {
  const row = [...parseDeviceKey(device), stamp]
  return result ? [...row, result.at, result.outcome, result.reason] : row
}

/** The columns of a device row that hold the result of the last push. */
export interface PushResultColumns {
  readonly lastPushAt: number | null
  readonly lastPushOutcome: PushResultKind | null
  readonly lastPushReason: string | null
}

/** Returns the push result in the columns of a device row; null if the device was never notified. */
export function pushResultFrom({ lastPushAt, lastPushOutcome, lastPushReason }: PushResultColumns): PushResult | null {
  if (lastPushAt === null || lastPushOutcome === null) return null
  return { at: lastPushAt, outcome: lastPushOutcome, reason: lastPushReason }
}
