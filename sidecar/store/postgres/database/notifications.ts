import type pg from 'pg'
import type { Clock, Timer } from '../../../clock.ts'

const AGAIN_MS = 1000

/**
 * Calls `heard` at each notification on `channel`, and each time that some may have been missed: on a client that `create` makes, and on
 * another one a second after it has ended. Gives what stops it.
 */
export function listenTo(
  channel: string,
  heard: () => void,
  create: () => pg.Client,
  clock: Pick<Clock, 'after'>,
): () => Promise<void> {
  let client: pg.Client | undefined
  let again: Timer | undefined
  let stopped = false

  async function attempt(): Promise<void> {
    const one = create()
    client = one
    one.on('notification', heard)
    one.on('error', () => undefined)
    one.once('end', () => {
      if (!stopped) again = clock.after(AGAIN_MS, () => void attempt())
    })
    try {
      await one.connect()
      await one.query(`LISTEN ${channel}`)
      heard()
    } catch {
      await one.end().catch(() => undefined) // what is wrong, others find out as well
    }
  }

  void attempt()
  return async () => {
    stopped = true
    again?.cancel()
    await client?.end().catch(() => undefined)
  }
}
