import pino from 'pino'

/**
 * The fields of a log line. Names are camelCase; a time's name ends with its unit (`…Ms`). A field never has a secret.
 */
export type LogFields = Readonly<Record<string, unknown>>

/**
 * The sidecar's log. Each line is a JSON object, as `fixtures/log-line.schema.json` defines it. `event` is a stable
 * kebab-case name for searches and alerts; `msg` is a sentence for people.
 */
export interface Log {
  debug(event: string, msg: string, fields?: LogFields): void
  info(event: string, msg: string, fields?: LogFields): void
  warn(event: string, msg: string, fields?: LogFields): void
  error(event: string, msg: string, fields?: LogFields): void
}

/** The values of `log.level`, from the most to the least verbose. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/**
 * Creates a log that writes to `destination`. Default: stdout, written synchronously, so that a crash loses no line.
 */
export function createLog(level: LogLevel, destination?: pino.DestinationStream): Log {
  const logger = pino(
    {
      level,
      base: { component: 'sidecar' },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: printable },
    },
    destination ?? pino.destination({ fd: 1, sync: true }),
  )
  const writer =
    (write: pino.LogFn) =>
    (event: string, msg: string, fields: LogFields = {}) =>
      write.call(logger, { event, ...fields }, printableText(msg))
  return {
    debug: writer(logger.debug),
    info: writer(logger.info),
    warn: writer(logger.warn),
    error: writer(logger.error),
  }
}

/**
 * Converts fields for output: errors become data, and text is cleaned by {@link printableText}. Radio stations and API
 * clients choose some of these values.
 */
export function printable(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, printableValue(value)]))
}

function printableValue(value: unknown): unknown {
  if (typeof value === 'string') return printableText(value)
  if (value instanceof Error) return describeError(value)
  if (Array.isArray(value)) return value.map(printableValue)
  return value
}

/**
 * Replaces line breaks, control characters and format characters in a text by spaces. So a text from radio stations or
 * API clients can neither forge a log line nor control a terminal.
 */
export function printableText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
}

function describeError(error: Error): Record<string, unknown> {
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const cause = error.cause instanceof Error ? { cause: describeError(error.cause) } : {}
  return { name: error.name, message: printableText(error.message), ...code, ...cause }
}

/** Returns the last 6 characters of a push token, for logs. They are enough to tell two tokens apart. */
export function shortToken(token: string): string {
  return `…${token.slice(-6)}`
}
