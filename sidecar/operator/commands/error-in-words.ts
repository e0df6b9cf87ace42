/** What is wrong, what the system said of it, and what to do, for somebody at a terminal. */
export function errorInWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const words = error.cause instanceof Error ? error.cause.message : ''
  // The client library's steps of a handshake say nothing that the code does not.
  const said = words.startsWith('SASL:') ? '' : words
  const cause = error.message.includes(said) ? '' : ` (${said})`
  return `${error.message}${cause}${'remedy' in error ? ` ${error.remedy}` : ''}`
}
