/**
 * Returns a function that calls `make` at its first call and returns that result ever after. If `make` rejects, the
 * next call tries again.
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
