import type { Clock } from '../../../clock.ts'
import type { AckSettings, HistorySettings } from '../../../config/settings.ts'
import { StoreError } from '../../../errors.ts'
import { horizonsMs } from '../../../messages/duplicate-horizons.ts'
import type { AppendOutcome, ReceivedMessage, StationKey } from '../../../messages/store.ts'
import { openBatches } from '../database/batches.ts'
import type { Queries } from '../database/connection.ts'
import { toStoreError } from '../database/postgres-error.ts'
import { tryAgain } from '../database/try-again.ts'
import {
  type AppendAnswer,
  type AppendBatch,
  type AppendCall,
  batchOf,
  outcomesOf,
  rowsOf,
  storedFor,
} from './append-batch.ts'
import { openBounds } from './bounds.ts'
import { messageIdentity } from './message-identity.ts'

// Longer statements are no faster, and what waits behind one waits longer.
const STATEMENT_ROWS = 1000
// Several seconds of a flood. Past it the callers have to slow down, or memory grows without end.
const WAITING_ROWS = 50_000
/** A statement of one message costs both sides as much as one of ten. */
const GATHER_MS = 4
/**
 * For how long a message is kept for a database that is away: a failover takes less, and its sender has repeated it by
 * then.
 */
const GIVE_UP_MS = 60_000
/** A message to a whole net is acknowledged by each of its stations; more than that of one sender is a flood. */
const STATIONS_PER_SENDER = 10

const APPEND = 'SELECT base, kinds, acks FROM append($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)'

/** What a caller gets, or an error that is his. */
type Result = () => readonly AppendOutcome[]

export interface Appends {
  append(messages: readonly ReceivedMessage[], mayAck: boolean): Promise<readonly AppendOutcome[]>
  /** Resolves when nothing waits to be stored. */
  idle(): Promise<void>
}

interface AppendsParts {
  readonly database: Queries
  readonly history: HistorySettings
  readonly ack: AckSettings
  readonly coalesceMs: number
  readonly clock: Clock
  /** Something new is durable for these stations. */
  readonly onStored: (stations: readonly StationKey[]) => void
  /** A statement failed for what passes, and is about to be tried again. */
  readonly onRetry?: () => void
}

/**
 * One statement is under way, the next gathers. One that fails for the connection, or for a database that is away, is
 * tried again as it was: what of it was stored all the same is found to be a copy then, since each message says how
 * long it has been waiting.
 */
export function openAppends({
  database,
  history,
  ack,
  coalesceMs,
  clock,
  onStored,
  onRetry = () => {},
}: AppendsParts): Appends {
  const horizons = horizonsMs(history)
  const limits = [ack.minIntervalMs, ack.maxPerSenderPerMinute, ack.maxPerSenderPerMinute * STATIONS_PER_SENDER]

  const bounds = openBounds(database, ack.minIntervalMs)

  async function store(calls: readonly AppendCall[]): Promise<readonly Result[]> {
    const batch = batchOf(calls, horizons)
    const answer = await answered(calls, batch)
    const stored = storedFor(batch, answer)
    onStored(stored)
    bounds.count(stored.length, answer.acks.length)
    let outcomes: ReturnType<typeof outcomesOf> | undefined
    // Not before the next statement has left.
    return calls.map((_, index) => () => {
      outcomes ??= outcomesOf(calls, batch, answer)
      return outcomes[index] ?? []
    })
  }

  function answered(calls: readonly AppendCall[], batch: AppendBatch): Promise<AppendAnswer> {
    const ask = async () => {
      const [answer] = await database.query<AppendAnswer>(APPEND, [
        ...rowsOf(batch, clock.elapsed()),
        horizons.numbered,
        horizons.unnumbered,
        coalesceMs,
        ...limits,
      ])
      if (answer) return answer
      throw new StoreError('store_fault')
    }
    return tryAgain(ask, Math.min(...calls.map(({ since }) => since)) + GIVE_UP_MS, clock, onRetry)
  }

  /** One of several calls may be at fault, not the database. Alone, only that one fails. */
  async function run(calls: readonly AppendCall[]): Promise<readonly Result[]> {
    try {
      return await store(calls)
    } catch (cause) {
      const error = toStoreError(cause)
      if (error.code !== 'store_fault' || calls.length === 1) return calls.map(() => () => raise(error))
      const results: Result[] = []
      for (const call of calls) results.push(...(await run([call])))
      return results
    }
  }

  const batches = openBatches<AppendCall, Result>({
    run,
    most: STATEMENT_ROWS,
    parallel: 1,
    mostWaiting: WAITING_ROWS,
    weight: ({ messages }) => messages.length,
    gatherMs: GATHER_MS,
  })

  return {
    async append(messages, mayAck) {
      if (messages.length === 0) return []
      // Here and not when their statement begins, for then the database waits for it.
      const identities = messages.map(messageIdentity)
      return (await batches.add({ messages, identities, mayAck, since: clock.elapsed() }))()
    },
    idle: batches.idle,
  }
}

function raise(error: StoreError): never {
  throw error
}
