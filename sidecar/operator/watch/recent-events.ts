import type { Clock } from '../../clock.ts'
import { type Log, type LogFields, printable } from '../../log.ts'

/** A logged warning or error. */
export interface RecentEvent {
  /** Time of the last occurrence, in milliseconds since 1970. */
  readonly at: number
  readonly level: 'warn' | 'error'
  readonly event: string
  readonly msg: string
  /** The fields of the log line as text, at most {@link MAX_DETAIL_CHARACTERS} long; empty if there are none. */
  readonly detail: string
  /** Number of times in a row that the same line was logged. */
  readonly times: number
}

/** A log that remembers its recent warnings and errors. */
export interface RecentEvents {
  /** Passes all lines to the underlying log, and remembers warnings and errors at any log level. */
  readonly log: Log
  /** Returns at most {@link MAX_EVENTS} events, newest first. */
  list(): readonly RecentEvent[]
}

export const MAX_EVENTS = 50
export const MAX_DETAIL_CHARACTERS = 600
const MAX_MSG_CHARACTERS = 300

export function rememberEvents(log: Log, clock: Clock): RecentEvents {
  const events: RecentEvent[] = []

  function remember(level: RecentEvent['level'], event: string, text: string, fields?: LogFields): void {
    const msg = text.slice(0, MAX_MSG_CHARACTERS)
    const entry = { at: clock.now(), level, event, msg, detail: detailOf(fields), times: 1 }
    const [newest] = events
    // A repeated line only increases the count. Otherwise a fault that is logged every few seconds would displace all
    // other events.
    if (newest && newest.event === event && newest.msg === msg && newest.detail === entry.detail) {
      events[0] = { ...entry, times: newest.times + 1 }
      return
    }
    events.unshift(entry)
    if (events.length > MAX_EVENTS) events.pop()
  }

  const remembering =
    (level: RecentEvent['level']) =>
    (event: string, msg: string, fields?: LogFields): void => {
      remember(level, event, msg, fields)
      log[level](event, msg, fields)
    }
  return {
    log: {
      get isDebug() {
        return log.isDebug
      },
      debug: log.debug,
      info: log.info,
      warn: remembering('warn'),
      error: remembering('error'),
    },
    list: () => [...events],
  }
}

function detailOf(fields: LogFields | undefined): string {
  if (!fields) return ''
  const text = describe(printable(fields), MAX_DEPTH)
  return text.length > MAX_DETAIL_CHARACTERS ? `${text.slice(0, MAX_DETAIL_CHARACTERS)}…` : text
}

/**
 * Limit of the depth of nested causes and objects in an event's text. Errors usually have one or two causes. The limit
 * also ends circular references.
 */
const MAX_DEPTH = 3
const MAX_ITEMS = 20

/** Formats fields for people: `station: N0CALL · error: disk is full (ENOSPC)`. */
function describe(fields: Readonly<Record<string, unknown>>, depth: number): string {
  return Object.entries(fields)
    .filter(([, value]) => value !== undefined && value !== null)
    .map(([name, value]) => `${name}: ${valueText(value, depth - 1)}`)
    .join(' · ')
}

function valueText(value: unknown, depth: number): string {
  if (typeof value !== 'object' || value === null) return String(value)
  if (depth < 0) return '…'
  if (Array.isArray(value))
    return value
      .slice(0, MAX_ITEMS)
      .map((item) => valueText(item, depth - 1))
      .join(', ')
  const members: Readonly<Record<string, unknown>> = { ...value }
  if (typeof members.message !== 'string') return `(${describe(members, depth)})`
  const { message, code, cause } = members
  const reason = cause === undefined ? '' : `, caused by: ${valueText(cause, depth - 1)}`
  return `${message}${typeof code === 'string' ? ` (${code})` : ''}${reason}`
}
