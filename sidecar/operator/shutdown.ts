import { type Clock, within } from '../clock.ts'
import type { Log } from '../log.ts'

/** Time limit of each closing stage in milliseconds, together below the usual 5 s of service managers. */
export const CLOSE_WITHIN = { work: 2700, watch: 200, store: 1800 } as const

/** The stages of the shutdown in their order: parts that use the store, parts that observe it, the store. */
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
   * Registers `part` for {@link Shutdown.close}, and returns it.
   *
   * @throws {StoppedEarlyError} if `close` was called before; closes `part` at once
   */
  add<Part extends Closable>(stage: Stage, name: string, part: Part): Part
  /**
   * Closes all parts, stage by stage. Logs a part that fails or exceeds its time limit, and continues. Resolves to
   * false if the store fails to close, because a thread may then hang in disk I/O. Idempotent; never rejects.
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
