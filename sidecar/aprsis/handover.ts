import type { Log } from '../log.ts'

/** Packet lines that may be handed over and not settled yet; sockets are not read beyond. */
const MAX_UNSETTLED_LINES = 5000

/** Hands packet lines to the pipeline, and says when to stop reading because it does not keep up. */
export interface Handover {
  readonly full: boolean
  /** Never throws; what the pipeline rejects with is logged. */
  take(lines: readonly string[]): void
  /** Resolves once the pipeline has settled all lines that it was given. */
  allSettled(): Promise<void>
}

/** `onFull` is called with true when reading should stop, and with false when it may go on: below half. */
export function handover(
  pipeline: (lines: readonly string[]) => Promise<void>,
  log: Log,
  onFull: (full: boolean) => void,
): Handover {
  let unsettled = 0
  let full = false
  /** Resolves the promises of {@link Handover.allSettled}. */
  let waiting: (() => void)[] = []

  function settle(count: number): void {
    unsettled -= count
    if (unsettled === 0) {
      for (const resolve of waiting) resolve()
      waiting = []
    }
    if (!full || unsettled >= MAX_UNSETTLED_LINES / 2) return
    full = false
    onFull(false)
  }

  async function process(lines: readonly string[]): Promise<void> {
    try {
      await pipeline(lines)
    } catch (error) {
      log.error('lines-not-processed', 'Lines from APRS-IS could not be processed.', { lines: lines.length, error })
    }
    settle(lines.length)
  }

  return {
    get full() {
      return full
    },
    take(lines) {
      unsettled += lines.length
      void process(lines)
      if (full || unsettled <= MAX_UNSETTLED_LINES) return
      full = true
      onFull(true)
    },
    allSettled: () => (unsettled === 0 ? Promise.resolve() : new Promise((resolve) => waiting.push(resolve))),
  }
}
