import type { SessionData } from 'express-session'
import type { TimeLimit } from '../time-limit.ts'

/**
 * Runs one operation of a session store, with a time limit.
 *
 * @param task what the store should do; completes the error message "The session store could not …"
 */
export type StoreOperation = <Result = void>(task: string, run: StoreCall<Result>) => Promise<Result | undefined>

type StoreCall<Result> = (done: (error?: unknown, result?: Result) => void) => void

export function storeOperations(limit: TimeLimit): StoreOperation {
  return <Result = void>(task: string, run: StoreCall<Result>) =>
    limit(
      new Promise<Result | undefined>((resolve, reject) => {
        // Session stores report failure with any truthy value in the callback's first argument. On success, that
        // argument is null or undefined.
        run((error, result) => (error ? reject(error) : resolve(result)))
      }).catch((cause: unknown) => {
        throw new Error(`The session store could not ${task}.`, { cause })
      }),
      `The session store took too long to ${task}.`,
    )
}

/**
 * Creates an entry beside the sessions. Stores read its lifetime from `cookie`. No browser's cookie names it.
 *
 * @param until milliseconds since 1970
 */
export function storeEntry<Members extends object>(members: Members, until: number, now: number): SessionData {
  const leftMs = until - now
  const cookie = { originalMaxAge: leftMs, maxAge: leftMs, expires: new Date(until), path: '/', httpOnly: true }
  return { cookie, ...members } as SessionData
}
