/** Returns an error's message, cause and remedy as text for a person at a terminal. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const words = error.cause instanceof Error ? error.cause.message : ''
  // Messages of the PostgreSQL client that begin with `SASL:` describe a login step. They add nothing to the error's
  // own message.
  const reason = words.startsWith('SASL:') ? '' : words
  const cause = error.message.includes(reason) ? '' : ` (${reason})`
  return `${error.message}${cause}${'remedy' in error ? ` ${error.remedy}` : ''}`
}
