/** What `make` gives, which is called once. A failure is forgotten: the next call tries again. */
export function onceResolved<Made>(make: () => Promise<Made>): () => Promise<Made> {
  let made: Promise<Made> | undefined
  return () => {
    made ??= make().catch((error: unknown) => {
      made = undefined
      throw error
    })
    return made
  }
}
