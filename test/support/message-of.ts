/** Resolves with the error message of a rejected promise; with `resolved` if it was fulfilled. */
export function messageOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'resolved',
    (error: Error) => error.message,
  )
}
