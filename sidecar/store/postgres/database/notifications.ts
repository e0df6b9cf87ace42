import type pg from 'pg'
import { type Clock, type Timer, within } from '../../../clock.ts'

const AGAIN_MS = 1000
/** For connecting and for LISTEN. A server that fell silent in between would never answer. */
const ANSWER_MS = 10_000
const CLOSE_MS = 500

/** A client that is not connected yet, and what ends its connection without the server's help. */
export interface ListeningClient {
  readonly client: pg.Client
  destroy(): void
}

/**
 * Calls `heard` at each notification on `channel`, and each time that some may have been missed: on a client that
 * `create` makes, and on another one a second after it has ended. Returns what stops it.
 */
export function listenTo(
  channel: string,
  heard: () => void,
  create: () => ListeningClient,
  clock: Clock,
): () => Promise<void> {
  let current: ListeningClient | undefined
  let again: Timer | undefined
  let stopped = false

  async function attempt(): Promise<void> {
    const { client, destroy } = create()
    current = { client, destroy }
    let ended = false
    const end = () => {
      if (!ended && !stopped) again = clock.after(AGAIN_MS, () => void attempt())
      ended = true
    }
    client.on('notification', heard)
    client.on('error', () => undefined)
    client.once('end', end)
    try {
      await within(ANSWER_MS, client.connect(), clock)
      await within(ANSWER_MS, client.query(`LISTEN ${channel}`), clock)
      heard()
    } catch {
      // The pool finds out the reason as well, and says it.
      destroy()
      end()
    }
  }

  void attempt()
  return async () => {
    stopped = true
    again?.cancel()
    if (!current) return
    await within(CLOSE_MS, current.client.end(), clock).catch(() => undefined)
    current.destroy()
  }
}
