import type pg from 'pg'
import { type Clock, type Timer, within } from '../../../clock.ts'

const AGAIN_MS = 1000
/** Time limit of connecting, and of LISTEN, in milliseconds. A server may stop answering at either step. */
const ANSWER_MS = 10_000
const CLOSE_MS = 500

/** A client that is not connected yet. `destroy` ends its connection without waiting for the server. */
export interface ListeningClient {
  readonly client: pg.Client
  destroy(): void
}

/**
 * Calls `heard` at each notification on `channel`, and when one may have been missed. Replaces a client whose
 * connection ends. Returns a function that stops.
 */
export function listenTo(
  channel: string,
  heard: () => void,
  create: () => ListeningClient,
  clock: Clock,
): () => Promise<void> {
  let current: ListeningClient | undefined
  let reconnecting: Timer | undefined
  let isStopped = false

  async function attempt(): Promise<void> {
    const { client, destroy } = create()
    current = { client, destroy }
    let isEnded = false
    const end = () => {
      if (!isEnded && !isStopped) reconnecting = clock.after(AGAIN_MS, () => void attempt())
      isEnded = true
    }
    client.on('notification', heard)
    client.on('error', () => undefined)
    client.once('end', end)
    try {
      await within(ANSWER_MS, client.connect(), clock)
      await within(ANSWER_MS, client.query(`LISTEN ${channel}`), clock)
      heard()
    } catch {
      // The error is not logged here, because the connection pool gets the same error and logs it.
      destroy()
      end()
    }
  }

  void attempt()
  return async () => {
    isStopped = true
    reconnecting?.cancel()
    if (!current) return
    await within(CLOSE_MS, current.client.end(), clock).catch(() => undefined)
    current.destroy()
  }
}
