/** Field values of a log line. Never a secret. */
export type LogFields = Readonly<Record<string, unknown>>

/**
 * Where the plugin's own lines go; a host may pass its own with `registerOidc(…, { log })`. Each is one JSON object a
 * line by the convention that `fixtures/log-line.schema.json` states. What concerns a login goes to the host's
 * authentication log instead.
 */
export interface Log {
  info(event: string, msg: string, fields?: LogFields): void
  warn(event: string, msg: string, fields?: LogFields): void
  error(event: string, msg: string, fields?: LogFields): void
}

/**
 * Text from an IdP, a user or an address without line breaks, control and direction characters, at most 300 characters:
 * it can neither forge a line in a text log nor drive a terminal.
 */
export function printableText(text: string): string {
  const cleaned = text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu, ' ')
  return cleaned.length > 300 ? `${cleaned.slice(0, 300)}…` : cleaned
}

/** The same for every text in the fields of a log line, however deep. */
export function printableFields(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, printableValue(value)]))
}

function printableValue(value: unknown): unknown {
  if (typeof value === 'string') return printableText(value)
  return Array.isArray(value) ? value.map(printableValue) : value
}

/**
 * The code of what broke in the end, such as `UNABLE_TO_GET_ISSUER_CERT_LOCALLY` or `ECONNREFUSED`: wrappers have codes
 * of their own, and say less.
 */
export function causeCode(error: unknown): string | undefined {
  return causes(error)
    .map((cause) => ('code' in cause && typeof cause.code === 'string' ? cause.code : undefined))
    .findLast((code) => code !== undefined)
}

/**
 * What the innermost error says. Libraries name claims, algorithms and addresses there, never the values of secrets.
 */
export function deepestMessage(error: unknown): string {
  return printableText(causes(error).at(-1)?.message ?? String(error))
}

/** An error and what caused it, outermost first. */
export function causes(error: unknown): readonly Error[] {
  const chain: Error[] = []
  let current = error
  while (current instanceof Error && chain.length < 8) {
    chain.push(current)
    // One error per address that was tried: the first tells enough.
    current = current instanceof AggregateError ? current.errors[0] : current.cause
  }
  return chain
}
