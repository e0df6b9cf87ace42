import type { Clock } from '../../../clock.ts'
import type { HistorySettings } from '../../../config/settings.ts'
import { ackIdentity, type ReceivedAck, type ReceivedAcks } from '../../../messages/acks/received-acks.ts'
import { horizonsMs } from '../../../messages/duplicate-horizons.ts'
import { openBatches } from '../database/batches.ts'
import type { Queries } from '../database/connection.ts'
import { tryAgain } from '../database/try-again.ts'

const STATEMENT_ROWS = 1000
/** Limit of waiting acks. Beyond it, `append` rejects. */
const WAITING_ROWS = 10_000
/** Time in milliseconds for which acks wait while the database is unreachable. A failover takes less. */
const GIVE_UP_MS = 60_000

const APPEND = 'SELECT append_acks($1, $2, $3, $4, $5, $6, $7) AS fresh'

interface AckRequest {
  readonly acks: readonly ReceivedAck[]
  /** Time at which the request arrived, in elapsed milliseconds. */
  readonly since: number
}

/** The interface of the received acks for other modules of the store. */
export interface SharedReceivedAcks extends ReceivedAcks {
  /** Resolves when no ack waits to be stored. */
  idle(): Promise<void>
}

interface ReceivedAcksParts {
  readonly database: Queries
  readonly history: HistorySettings
  readonly clock: Clock
}

/**
 * Opens the queue of received acks to be stored. Acks that arrive while a statement is in progress share the next one.
 */
export function openReceivedAcks({ database, history, clock }: ReceivedAcksParts): SharedReceivedAcks {
  const { numbered } = horizonsMs(history)

  async function store(requests: readonly AckRequest[]): Promise<readonly number[]> {
    const distinct = new Map<string, { readonly ack: ReceivedAck; readonly request: AckRequest }>()
    for (const request of requests)
      for (const ack of request.acks) {
        const identity = ackIdentity(ack)
        if (!distinct.has(identity)) distinct.set(identity, { ack, request })
      }
    const rows = [...distinct.values()]
    const append = async () => {
      const now = clock.elapsed()
      const [answer] = await database.query<{ fresh: readonly number[] }>(APPEND, [
        rows.map(({ ack }) => ack.to),
        rows.map(({ ack }) => ack.from),
        rows.map(({ ack }) => ack.seqId),
        rows.map(({ ack }) => ack.kind),
        [...distinct.keys()],
        rows.map(({ request }) => Math.round(now - request.since)),
        numbered,
      ])
      return answer?.fresh ?? []
    }
    const oldest = Math.min(...requests.map(({ since }) => since))
    const fresh = await tryAgain(append, oldest + GIVE_UP_MS, clock)
    const counts = new Map<AckRequest | undefined, number>()
    for (const number of fresh) {
      const request = rows[number - 1]?.request
      counts.set(request, (counts.get(request) ?? 0) + 1)
    }
    return requests.map((request) => counts.get(request) ?? 0)
  }

  const batches = openBatches({
    run: store,
    most: STATEMENT_ROWS,
    parallel: 1,
    mostWaiting: WAITING_ROWS,
    weight: ({ acks }: AckRequest) => acks.length,
  })
  return {
    append: async (acks) => (acks.length === 0 ? 0 : batches.add({ acks, since: clock.elapsed() })),
    idle: batches.idle,
  }
}
