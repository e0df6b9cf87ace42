/** Resolves with the error of a rejected promise; undefined if it was fulfilled. */
export function errorOf<Thrown = Error>(work: Promise<unknown>): Promise<Thrown | undefined> {
  return work.then(
    () => undefined,
    (error: Thrown) => error,
  )
}
