const LIMIT_MS = 10_000

/**
 * One call of MeshCentral's database, which answers by a callback, as a promise.
 *
 * @param what it was to do, for the error
 * @param run is given the callback, with the error first
 * @throws Error when it reports one, throws, or has not answered after 10 s
 */
export function askDatabase<Answer = void>(
  what: string,
  run: (done: (error?: unknown, answer?: Answer) => void) => void,
): Promise<Answer | undefined> {
  return new Promise((resolve, reject) => {
    const fail = (cause?: unknown) => reject(new Error(`The database could not ${what}.`, { cause }))
    const timer = setTimeout(() => fail(new Error('It did not answer in time.')), LIMIT_MS)
    const done = (error?: unknown, answer?: Answer) => {
      clearTimeout(timer)
      if (error) fail(error)
      else resolve(answer)
    }
    try {
      run(done)
    } catch (error) {
      done(error)
    }
  })
}
