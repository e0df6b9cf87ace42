/** Fields of a log line. They must not contain a secret. */
export type LogFields = Readonly<Record<string, unknown>>

/**
 * The plugin's own log. Default: JSON lines as in `fixtures/log-line.schema.json`. Entries about logins go to the
 * host's authentication log instead.
 */
export interface Log {
  info(event: string, msg: string, fields?: LogFields): void
  warn(event: string, msg: string, fields?: LogFields): void
  error(event: string, msg: string, fields?: LogFields): void
}

/**
 * Replaces line breaks, control and direction characters, and cuts at 300 characters. Such text can neither forge a log
 * line nor control a terminal.
 */
export function printableText(text: string): string {
  const cleaned = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
  return cleaned.length > 300 ? `${cleaned.slice(0, 300)}…` : cleaned
}

/** Applies {@link printableText} to all strings in the fields of a log line, including those in arrays. */
export function printableFields(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, printableValue(value)]))
}

function printableValue(value: unknown): unknown {
  if (typeof value === 'string') return printableText(value)
  return Array.isArray(value) ? value.map(printableValue) : value
}

/**
 * Returns an error's code, such as `ECONNREFUSED`. If an error and its causes have several codes, returns the
 * innermost, most specific one.
 */
export function causeCode(error: unknown): string | undefined {
  return causes(error)
    .map((cause) => ('code' in cause && typeof cause.code === 'string' ? cause.code : undefined))
    .findLast((code) => code !== undefined)
}

/**
 * Returns the message of the innermost cause. Libraries write these messages. The messages may contain names of claims,
 * algorithms and addresses, but no secrets.
 */
export function deepestMessage(error: unknown): string {
  return printableText(causes(error).at(-1)?.message ?? String(error))
}

/** Returns an error and its causes, the outermost first. Returns at most eight. */
export function causes(error: unknown): readonly Error[] {
  const chain: Error[] = []
  let current = error
  while (current instanceof Error && chain.length < 8) {
    chain.push(current)
    // An AggregateError contains one error for each address that was tried. Use the first, because one error suffices.
    current = current instanceof AggregateError ? current.errors[0] : current.cause
  }
  return chain
}
