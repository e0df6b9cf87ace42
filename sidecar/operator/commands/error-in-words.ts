/** What is wrong, what the system said of it, and what to do, for somebody at a terminal. */
export function errorInWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const said = error.cause instanceof Error ? error.cause.message : ''
  const cause = error.message.includes(said) ? '' : ` (${said})`
  return `${error.message}${cause}${'remedy' in error ? ` ${error.remedy}` : ''}`
}
