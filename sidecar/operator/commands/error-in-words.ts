/** Returns an error's message with its cause and its remedy, for a person at a terminal. */
export function errorInWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const words = error.cause instanceof Error ? error.cause.message : ''
  // The client library's names of handshake steps add nothing to the code.
  const reason = words.startsWith('SASL:') ? '' : words
  const cause = error.message.includes(reason) ? '' : ` (${reason})`
  return `${error.message}${cause}${'remedy' in error ? ` ${error.remedy}` : ''}`
}
