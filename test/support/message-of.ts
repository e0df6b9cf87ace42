/** Why it was rejected: the message of the error; that it was not is a text too. */
export function messageOf(work: Promise<unknown>): Promise<string> {
  return work.then(
    () => 'resolved',
    (error: Error) => error.message,
  )
}
