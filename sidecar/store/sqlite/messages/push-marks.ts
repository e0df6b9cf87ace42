import type { Clock } from '../../../clock.ts'
import type { PushResult, PushResultKind } from '../../../messages/reports/push-result.ts'
import { parseDeviceKey } from '../../../messages/station.ts'
import { readSql } from '../../read-sql.ts'
import type { Database, Transaction, Write } from '../database/database.ts'

// How long marks gather. Outcomes arrive one by one. Written as they arrived, 2,000 of them took 159 disk flushes;
// gathered, they take 22.
const GATHER_MS = 100

const MARK_PUSHED = readSql(new URL('./mark-pushed.sql', import.meta.url))

/** What is written for a device. */
export interface PushMark {
  /** The device was notified of messages up to this stamp. */
  readonly stamp: number
  /** The result of the last try; undefined if the one in the file stays. */
  readonly result: PushResult | undefined
}

/**
 * Records in the file up to which stamp each device was notified, and how the last try ended.
 *
 * Marks gather until the last claim in progress ends, or until a claim ends when the first mark is at least {@link
 * GATHER_MS} old. Then all marks are written at once. If that fails, the next end of a claim tries again. {@link seal}
 * writes the rest. A device is notified again only if the process dies before its mark is written.
 */
export class PushMarks {
  readonly #database: Database
  readonly #clock: Pick<Clock, 'elapsed'>
  /** Marks that are not in the file yet, by the key of the device. */
  readonly #unwritten = new Map<string, PushMark>()
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

  /** Adds the mark of a device. */
  add(device: string, { stamp, result }: PushMark): void {
    this.#unwritten.set(device, { stamp, result: result ?? this.resultOf(device) })
    this.#gatheringSince ??= this.#clock.elapsed()
  }

  /** Returns the last result of a device, unless only the file has it. */
  resultOf(device: string): PushResult | undefined {
    return this.#unwritten.get(device)?.result
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

/** The columns of a device row with the result of the last push. */
export interface PushResultColumns {
  readonly lastPushAt: number | null
  readonly lastPushOutcome: PushResultKind | null
  readonly lastPushReason: string | null
}

/** Returns the result in the columns of a device; null if there is none. */
export function pushResultFrom({ lastPushAt, lastPushOutcome, lastPushReason }: PushResultColumns): PushResult | null {
  if (lastPushAt === null || lastPushOutcome === null) return null
  return { at: lastPushAt, outcome: lastPushOutcome, reason: lastPushReason }
}
