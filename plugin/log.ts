/** Fields of a log line. They must not contain a secret. */
export type LogFields = Readonly<Record<string, unknown>>

/**
 * The plugin's own log. A host may pass another log in the option `log` of `registerOidc`. By default, each line is a
 * JSON object that `fixtures/log-line.schema.json` describes. Entries about logins go to the host's authentication log
 * instead.
 */
export interface Log {
  info(event: string, msg: string, fields?: LogFields): void
  warn(event: string, msg: string, fields?: LogFields): void
  error(event: string, msg: string, fields?: LogFields): void
}

/**
 * Sanitizes text from an IdP, a user or an address. Replaces line breaks, control characters and direction characters,
 * and cuts the text at 300 characters. Such text can neither forge a line in a text log nor control a terminal.
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
 * Returns the code of an error, such as `UNABLE_TO_GET_ISSUER_CERT_LOCALLY` or `ECONNREFUSED`. If several causes have a
 * code, returns that of the innermost cause, because it is the most specific.
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
