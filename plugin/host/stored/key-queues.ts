import type { TimeLimit } from '../time-limit.ts'

/** Pieces of work under way or waiting, of all keys together. */
const MOST_WAITING = 10_000

/**
 * Lets what works on one key take turns, in the order of the calls; other keys do not wait for it. Rejects when it has
 * not come to an end in time, and then is not begun any more. What has begun keeps its turn until it ends, however long
 * that takes: what comes too late must not write over what came after it.
 */
export function createTurns(): <Result>(key: string, limit: TimeLimit, work: () => Promise<Result>) => Promise<Result> {
  const last = new Map<string, Promise<void>>()
  let waiting = 0

  return async (key, limit, work) => {
    if (waiting >= MOST_WAITING) throw new Error('Too many changes wait for the store of accounts and groups.')
    waiting += 1
    let givenUp = false
    const turn = (last.get(key) ?? Promise.resolve()).then(() => {
      if (givenUp) throw new Error('Nobody waits for it any more.')
      return work()
    })
    const ended = turn
      .then(
        () => undefined,
        () => undefined,
      )
      .then(() => {
        waiting -= 1
        if (last.get(key) === ended) last.delete(key)
      })
    last.set(key, ended)
    try {
      return await limit(turn, 'The store of accounts and groups did not answer in time.')
    } finally {
      givenUp = true
    }
  }
}
