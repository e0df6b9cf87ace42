import { type Clock, within } from '../clock.ts'
import type { Log } from '../log.ts'

/**
 * How long each stage may take to close, in milliseconds; together under 5 s, which service managers commonly allow.
 * `work`: everything that uses the store. `watch`: what observes it.
 */
export const CLOSE_WITHIN = { work: 2700, watch: 200, store: 1800 } as const

/** In the order in which they close. */
const STAGES = ['work', 'watch', 'store'] as const
type Stage = (typeof STAGES)[number]

interface Closable {
  close(): Promise<void>
}

/** The process was told to stop while it started. */
export class StoppedEarlyError extends Error {
  override readonly name = 'StoppedEarlyError'
  constructor() {
    super('The sidecar was told to stop while it started.')
  }
}

/** A start failed, and its store could not be closed. */
export class StoreLeftOpenError extends Error {
  override readonly name = 'StoreLeftOpenError'
}

/** The parts that were opened. */
export interface Shutdown {
  /**
   * Remembers `part` and returns it. Once {@link Shutdown.close} was called, closes `part` at once instead.
   *
   * @throws StoppedEarlyError once {@link Shutdown.close} was called
   */
  add<Part extends Closable>(stage: Stage, name: string, part: Part): Part
  /**
   * Closes all parts: a stage after the other, the parts of one at the same time. A part that fails or takes too long
   * is logged and left behind. Resolves with false if that part is the store: a thread of the process may then hang in
   * a disk. Any other part waits for a remote side, or for a busy machine, and ends with the process. Idempotent; never
   * rejects.
   */
  close(): Promise<boolean>
}

export function createShutdown(clock: Clock, log: Log): Shutdown {
  const parts: { readonly stage: Stage; readonly name: string; readonly part: Closable }[] = []
  let closing: Promise<boolean> | undefined
  /** Parts that came after {@link closing} began. */
  const late: Promise<boolean>[] = []

  async function closePart(stage: Stage, name: string, part: Closable): Promise<boolean> {
    try {
      await within(CLOSE_WITHIN[stage], part.close(), clock)
      return true
    } catch (error) {
      log.warn('close-failed', 'A part did not close as it should; nothing that was confirmed is lost.', {
        part: name,
        error,
      })
      return stage !== 'store'
    }
  }

  async function closeAll(): Promise<boolean> {
    let isStoreClosed = true
    for (const stage of STAGES) {
      const those = parts.filter((one) => one.stage === stage)
      const closed = await Promise.all(those.map(({ name, part }) => closePart(stage, name, part)))
      isStoreClosed &&= closed.every(Boolean)
    }
    return isStoreClosed
  }

  return {
    add(stage, name, part) {
      if (closing !== undefined) {
        late.push(closePart(stage, name, part))
        throw new StoppedEarlyError()
      }
      parts.push({ stage, name, part })
      return part
    },
    async close() {
      closing ??= closeAll()
      const closed = await closing
      return (await Promise.all(late)).every(Boolean) && closed
    },
  }
}
