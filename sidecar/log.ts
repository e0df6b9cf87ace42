import pino from 'pino'

/** Field values of a log line; names are camelCase, times carry their unit (`…Ms`). Never a secret. */
export type LogFields = Readonly<Record<string, unknown>>

/**
 * The sidecar's log: one JSON object a line, by the convention that `fixtures/log-line.schema.json` states.
 * `event` is a stable kebab-case name to search and alert on, `msg` a sentence for a person.
 */
export interface Log {
  debug(event: string, msg: string, fields?: LogFields): void
  info(event: string, msg: string, fields?: LogFields): void
  warn(event: string, msg: string, fields?: LogFields): void
  error(event: string, msg: string, fields?: LogFields): void
}

/** Levels that `log.level` takes, from talkative to quiet. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** A log that writes to `destination` (default: stdout, synchronously, so that a crash loses no line). */
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
  const at =
    (write: pino.LogFn) =>
    (event: string, msg: string, fields: LogFields = {}) =>
      write.call(logger, { event, ...fields }, printableText(msg))
  return { debug: at(logger.debug), info: at(logger.info), warn: at(logger.warn), error: at(logger.error) }
}

/** The fields as they are written: errors as data, text without the control characters that a terminal would obey. */
// Radio traffic and clients write some of these values.
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
 * Text from outside without line breaks, control and direction characters: it cannot forge a line or drive a terminal.
 */
export function printableText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
}

function describeError(error: Error): Record<string, unknown> {
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const cause = error.cause instanceof Error ? { cause: describeError(error.cause) } : {}
  return { name: error.name, message: printableText(error.message), ...code, ...cause }
}

/** A push token as it may appear in a log: its last 6 characters, enough to tell two apart. */
export function shortToken(token: string): string {
  return `…${token.slice(-6)}`
}
