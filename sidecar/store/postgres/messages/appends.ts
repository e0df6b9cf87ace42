import type { Clock } from '../../../clock.ts'
import type { AckSettings, HistorySettings } from '../../../config/settings.ts'
import { StoreError } from '../../../errors.ts'
import { horizonsMs } from '../../../messages/duplicate-horizons.ts'
import type { AppendOutcome, ReceivedMessage, StationKey } from '../../../messages/store.ts'
import { type Batches, openBatches } from '../database/batches.ts'
import type { Queries } from '../database/connection.ts'
import { toStoreError } from '../database/postgres-error.ts'
import { tryAgain } from '../database/try-again.ts'
import {
  type AppendAnswer,
  type AppendBatch,
  type AppendRequest,
  addresseesOf,
  batchOf,
  outcomesOf,
  rowsOf,
  storedFor,
} from './append-batch.ts'
import { type Bounds, openBounds } from './bounds.ts'
import { messageIdentity } from './message-identity.ts'

// Limit of rows per statement. Larger statements are not more efficient, and delay the messages that wait for them.
const STATEMENT_ROWS = 1000
// Limit of waiting rows: several seconds of a flood of messages. Beyond it, calls reject, because otherwise memory
// would fill up.
const WAITING_ROWS = 50_000
/**
 * Time in milliseconds for which a batch gathers messages. A statement with one message costs as much as one with ten.
 */
const GATHER_MS = 4
/**
 * Time in milliseconds for which a message waits while the database is unreachable. A failover takes less, and senders
 * retransmit within this time.
 */
const GIVE_UP_MS = 60_000
/**
 * Number of stations that may acknowledge one sender at the full rate, for example after a message to a whole net. More
 * acks indicate a flood.
 */
const STATIONS_PER_SENDER = 10

const APPEND = `
  SELECT base, kinds, acks, originals
  FROM append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)`

/** Returns the outcomes for one caller, or throws its error. */
type Result = () => readonly AppendOutcome[]

/** Stores received messages in the shared tables. */
export interface Appends {
  append(messages: readonly ReceivedMessage[], mayAck: boolean): Promise<readonly AppendOutcome[]>
  /** Resolves when no message waits to be stored. */
  idle(): Promise<void>
}

interface AppendsParts {
  readonly database: Queries
  readonly history: HistorySettings
  readonly ack: AckSettings
  readonly coalesceMs: number
  readonly clock: Clock
  /** Called when new messages of these stations are durable. */
  readonly onStored: (stations: readonly StationKey[]) => void
  /** Called before a statement is retried after a temporary error. */
  readonly onRetry?: () => void
}

/** Opens the queue of messages that wait to be stored. */
export function openAppends(parts: AppendsParts): Appends {
  return new BatchedAppends(parts)
}

/**
 * Stores messages in batches: while one statement is in progress, the next batch gathers.
 *
 * While the database is unreachable, a statement is retried for up to a minute. It includes how long each message has
 * waited, so that the database recognizes messages that a failed attempt did store. If a statement is refused, each
 * request is stored alone, so that only the faulty one fails.
 *
 * Public methods are arrow functions, because callers pass them on as plain functions.
 */
class BatchedAppends implements Appends {
  readonly #parts: AppendsParts
  readonly #horizons: ReturnType<typeof horizonsMs>
  readonly #bounds: Bounds
  readonly #batches: Batches<AppendRequest, Result>

  constructor(parts: AppendsParts) {
    this.#parts = parts
    this.#horizons = horizonsMs(parts.history)
    this.#bounds = openBounds(parts.database, parts.ack.minIntervalMs)
    this.#batches = openBatches({
      run: (requests) => this.#run(requests),
      most: STATEMENT_ROWS,
      parallel: 1,
      mostWaiting: WAITING_ROWS,
      weight: ({ messages }) => messages.length,
      gatherMs: GATHER_MS,
    })
  }

  readonly append: Appends['append'] = async (messages, mayAck) => {
    if (messages.length === 0) return []
    // The identities are computed before a statement begins. Otherwise the database would have to wait for them.
    const identities = messages.map(messageIdentity)
    const result = await this.#batches.add({ messages, identities, mayAck, since: this.#parts.clock.elapsed() })
    return result()
  }

  readonly idle = (): Promise<void> => this.#batches.idle()

  async #run(requests: readonly AppendRequest[]): Promise<readonly Result[]> {
    try {
      return await this.#store(requests)
    } catch (cause) {
      const error = toStoreError(cause)
      if (error.code !== 'store_fault' || requests.length === 1) return requests.map(() => () => raise(error))
      const results: Result[] = []
      for (const request of requests) results.push(...(await this.#run([request])))
      return results
    }
  }

  async #store(requests: readonly AppendRequest[]): Promise<readonly Result[]> {
    const batch = batchOf(requests, this.#horizons)
    const answer = await this.#answerTo(requests, batch)
    const stored = storedFor(batch, answer)
    this.#parts.onStored(stored)
    this.#bounds.count(stored.length, answer.acks.length)
    let outcomes: ReturnType<typeof outcomesOf> | undefined
    // The outcomes are computed when the first caller reads its result. By then, the next statement has been sent.
    return requests.map((_, index) => () => {
      outcomes ??= outcomesOf(requests, batch, answer)
      return outcomes[index] ?? []
    })
  }

  #answerTo(requests: readonly AppendRequest[], batch: AppendBatch): Promise<AppendAnswer> {
    const { database, ack, coalesceMs, clock, onRetry } = this.#parts
    const ask = async () => {
      const [answer] = await database.query<AppendAnswer>(APPEND, [
        ...rowsOf(batch, clock.elapsed()),
        this.#horizons.numbered,
        this.#horizons.unnumbered,
        coalesceMs,
        ack.minIntervalMs,
        ack.maxPerSenderPerMinute,
        ack.maxPerSenderPerMinute * STATIONS_PER_SENDER,
        addresseesOf(batch),
      ])
      if (answer) return answer
      throw new StoreError('store_fault')
    }
    const oldest = Math.min(...requests.map(({ since }) => since))
    return tryAgain(ask, oldest + GIVE_UP_MS, clock, onRetry)
  }
}

function raise(error: StoreError): never {
  throw error
}
