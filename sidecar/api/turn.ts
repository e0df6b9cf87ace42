/** Resolves when the event loop has dealt with everything that arrived up to now; the same promise for all who ask in one turn. */
export type EndOfTurn = () => Promise<void>

/**
 * For what should happen in one go. Answers that leave one right after the other, rather than one between each two requests, take
 * a quarter less time: the way through the kernel stays in the processor's cache, and whoever reads them has not gone to sleep yet.
 */
export function createEndOfTurn(): EndOfTurn {
  let turn: Promise<void> | undefined
  return () => {
    turn ??= new Promise((resolve) => {
      setImmediate(() => {
        turn = undefined
        resolve()
      })
    })
    return turn
  }
}
