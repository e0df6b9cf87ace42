/**
 * Returns a function that calls `make` at its first call and returns the same result at each later call. If `make`
 * rejects, the next call tries again.
 */
export function onceResolved<Result>(make: () => Promise<Result>): () => Promise<Result> {
  let result: Promise<Result> | undefined
  return () => {
    result ??= make().catch((error: unknown) => {
      result = undefined
      throw error
    })
    return result
  }
}
