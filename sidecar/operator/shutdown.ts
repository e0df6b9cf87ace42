import { type Clock, within } from '../clock.ts'
import type { Log } from '../log.ts'

/**
 * Time limit of each closing stage in milliseconds. Their sum is below the 5 s that service managers usually allow. The
 * stage `work` closes parts that use the store, and `watch` closes parts that observe it.
 */
export const CLOSE_WITHIN = { work: 2700, watch: 200, store: 1800 } as const

/** The stages of the shutdown, in their order. */
const STAGES = ['work', 'watch', 'store'] as const
type Stage = (typeof STAGES)[number]

interface Closable {
  close(): Promise<void>
}

/** The error if the sidecar was stopped before its start ended. The start rejects with this error. */
export class StoppedEarlyError extends Error {
  override readonly name = 'StoppedEarlyError'
  constructor() {
    super('The sidecar was stopped during its start.')
  }
}

/** The error if the store could not be closed after a failed start. */
export class StoreLeftOpenError extends Error {
  override readonly name = 'StoreLeftOpenError'
}

/** Closes the parts of the sidecar, stage by stage. */
export interface Shutdown {
  /**
   * Registers `part` of the sidecar for {@link Shutdown.close} to close, and returns it. If `close` was called before,
   * closes `part` at once and throws.
   *
   * @throws {StoppedEarlyError} if {@link Shutdown.close} was called before
   */
  add<Part extends Closable>(stage: Stage, name: string, part: Part): Part
  /**
   * Closes all parts, one stage after the other, and the parts of a stage at the same time. If a part fails or exceeds
   * its time limit, logs this and continues. Resolves to false if the store fails to close, because a thread of the
   * process may then hang in disk I/O. Other parts that are still open end with the process. Idempotent; never rejects.
   */
  close(): Promise<boolean>
}

export function createShutdown(clock: Clock, log: Log): Shutdown {
  const parts: { readonly stage: Stage; readonly name: string; readonly part: Closable }[] = []
  let closing: Promise<boolean> | undefined
  /** Promises for the closing of parts that were added after {@link Shutdown.close} was called. */
  const late: Promise<boolean>[] = []

  async function closePart(stage: Stage, name: string, part: Closable): Promise<boolean> {
    try {
      await within(CLOSE_WITHIN[stage], part.close(), clock)
      return true
    } catch (error) {
      log.warn(
        'close-failed',
        'A part of the sidecar failed to close, or exceeded its time limit. Nothing that was acknowledged is lost.',
        {
          part: name,
          error,
        },
      )
      return stage !== 'store'
    }
  }

  async function closeAll(): Promise<boolean> {
    let isStoreClosed = true
    for (const stage of STAGES) {
      const members = parts.filter((entry) => entry.stage === stage)
      const closed = await Promise.all(members.map(({ name, part }) => closePart(stage, name, part)))
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
