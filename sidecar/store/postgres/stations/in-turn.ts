import type { Clock } from '../../../clock.ts'
import { StoreError } from '../../../errors.ts'

const MOST_WAITING = 1000
/** What waited longer is refused at its turn: whoever asked has given up. */
const LONGEST_WAIT_MS = 10_000

/** Runs what it is given one after the other, in the order of the calls. Rejects with `store_overloaded` where too much waits, or for too long. */
export function inTurn(clock: Pick<Clock, 'elapsed'>): <T>(work: () => Promise<T>) => Promise<T> {
  let before: Promise<unknown> = Promise.resolve()
  let waiting = 0
  return async (work) => {
    if (waiting >= MOST_WAITING) throw new StoreError('store_overloaded')
    waiting += 1
    const since = clock.elapsed()
    const mine = before.then(() => {
      waiting -= 1
      if (clock.elapsed() - since > LONGEST_WAIT_MS) throw new StoreError('store_overloaded')
      return work()
    })
    before = mine.catch(() => undefined)
    return mine
  }
}
