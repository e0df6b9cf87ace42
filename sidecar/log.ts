import pino from 'pino'

/**
 * The fields of a log line. Names are camelCase; a time's name ends with its unit (`…Ms`). A field never contains a
 * secret.
 */
export type LogFields = Readonly<Record<string, unknown>>

/**
 * The sidecar's log of JSON lines (`fixtures/log-line.schema.json`). `event` is a stable name for alerts; `msg` is for
 * people.
 */
export interface Log {
  /**
   * Whether debug lines are written. Code that runs often checks this first, so that it does not build fields that are
   * not logged.
   */
  readonly isDebug: boolean
  debug(event: string, msg: string, fields?: LogFields): void
  info(event: string, msg: string, fields?: LogFields): void
  warn(event: string, msg: string, fields?: LogFields): void
  error(event: string, msg: string, fields?: LogFields): void
}

/** The values of `log.level`, from the most to the least verbose. */
export const LOG_LEVELS = ['debug', 'info', 'warn', 'error', 'silent'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/** The values of `log.format`. `auto`: text on a terminal, JSON otherwise. */
export const LOG_FORMATS = ['json', 'text', 'auto'] as const
export type LogFormat = (typeof LOG_FORMATS)[number]

/** The settings `log.level` and `log.format`. */
export interface LogSettings {
  readonly level: LogLevel
  readonly format: LogFormat
}

/** A log with a level and a format that can change while it is in use. */
export interface ConfigurableLog extends Log {
  configure(settings: LogSettings): void
}

/** A log that drops every line. */
export const SILENT_LOG: Log = { isDebug: false, debug() {}, info() {}, warn() {}, error() {} }

/**
 * Creates a log that writes to `destination`. Default: stdout. Lines are written synchronously there, so that a crash
 * loses none.
 */
export function createLog(
  level: LogLevel,
  destination?: pino.DestinationStream,
  format: LogFormat = 'json',
): ConfigurableLog {
  const output = destination ?? pino.destination({ fd: 1, sync: true })
  let isText = isTextFormat(format)
  const logger = pino(
    {
      level,
      base: { component: 'sidecar' },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }), log: printable },
    },
    { write: (line) => void output.write(isText ? lineAsText(line) : line) },
  )
  // `logger[level]` is looked up at each call, because the logger replaces its methods when its level changes.
  const writer =
    (level: Exclude<LogLevel, 'silent'>) =>
    (event: string, msg: string, fields: LogFields = {}) => {
      if (logger.isLevelEnabled(level)) logger[level]({ event, ...fields }, printableText(msg))
    }
  return {
    get isDebug() {
      return logger.isLevelEnabled('debug')
    },
    configure(settings) {
      logger.level = settings.level
      isText = isTextFormat(settings.format)
    },
    debug: writer('debug'),
    info: writer('info'),
    warn: writer('warn'),
    error: writer('error'),
  }
}

function isTextFormat(format: LogFormat): boolean {
  return format === 'text' || (format === 'auto' && process.stdout.isTTY)
}

/**
 * Converts a line of JSON to text for people:
 * `2026-01-31T23:59:59.000Z info  stopping: The sidecar stops. signal=SIGINT`.
 */
function lineAsText(line: string): string {
  const { time, level, component: _, event, msg, ...fields } = JSON.parse(line) as Readonly<Record<string, unknown>>
  const details = Object.entries(fields).map(([name, value]) => ` ${name}=${fieldAsText(value)}`)
  return `${time} ${String(level).padEnd(5)} ${event}: ${msg}${details.join('')}\n`
}

/** Quotes a text that contains blanks, `=` or quotes, so that a reader sees where each field ends. */
function fieldAsText(value: unknown): string {
  return typeof value === 'string' && /^[^\s"=]+$/.test(value) ? value : JSON.stringify(value)
}

/** Converts fields for output: errors become data, and {@link printableText} cleans text, which may be hostile. */
export function printable(fields: LogFields): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, printableValue(value)]))
}

function printableValue(value: unknown): unknown {
  if (typeof value === 'string') return printableText(value)
  if (value instanceof Error) return describeError(value)
  if (Array.isArray(value)) return value.map(printableValue)
  return value
}

/** Replaces line breaks, control and format characters, so that no text can forge a log line or control a terminal. */
export function printableText(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ')
}

function describeError(error: Error): Record<string, unknown> {
  const code = 'code' in error && typeof error.code === 'string' ? { code: error.code } : {}
  const cause = error.cause instanceof Error ? { cause: describeError(error.cause) } : {}
  return { name: error.name, message: printableText(error.message), ...code, ...cause }
}

/** Returns the last 6 characters of a push token, for logs. They suffice to distinguish tokens. */
export function shortToken(token: string): string {
  return `…${token.slice(-6)}`
}
