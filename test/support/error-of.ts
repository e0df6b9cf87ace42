/** What it was rejected with; undefined: it was not. */
export function errorOf<Thrown = Error>(work: Promise<unknown>): Promise<Thrown | undefined> {
  return work.then(
    () => undefined,
    (error: Thrown) => error,
  )
}
