import { type Clock, within } from '../clock.ts'
import type { Log } from '../log.ts'

/** What was opened, to be closed in reverse order. */
export interface Shutdown {
  /** Remembers `part`, whose closing may take `limitMs`; returns it. */
  add<Part extends { close(): Promise<void> }>(name: string, limitMs: number, part: Part): Part
  /**
   * Closes all parts, one after the other. A part that fails or takes too long is logged and left behind: then this resolves with
   * false. Never rejects; twice is fine.
   */
  close(): Promise<boolean>
}

export function createShutdown(clock: Clock, log: Log): Shutdown {
  const closers: { readonly name: string; readonly close: () => Promise<void> }[] = []
  let closing: Promise<boolean> | undefined

  async function closeAll(): Promise<boolean> {
    let all = true
    for (const { name, close } of closers.toReversed()) {
      try {
        await close()
      } catch (error) {
        all = false
        log.warn('close-failed', 'A part did not close as it should; nothing that was confirmed is lost.', {
          part: name,
          error,
        })
      }
    }
    return all
  }

  return {
    add(name, limitMs, part) {
      closers.push({ name, close: () => within(limitMs, part.close(), clock) })
      return part
    },
    close() {
      closing ??= closeAll()
      return closing
    },
  }
}
