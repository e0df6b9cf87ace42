import { canonicalKey } from '../../aprs/station.ts'

/** The maximum number of entries in a device's list of blocked senders. */
export const MAX_BLOCKED = 50

/** An entry of a list of blocked senders: a callsign, or the beginning of callsigns and a `*`. */
export const BLOCKED_ENTRY = '^(?:[A-Za-z0-9][A-Za-z0-9-]{0,8}\\*?|\\*)$'

/**
 * Returns a list of blocked senders in the form in which it is stored: upper case, without an SSID of 0, sorted,
 * without repetitions.
 */
export function blockedList(entries: readonly string[]): readonly string[] {
  return [...new Set(entries.map(canonicalKey))].sort()
}

/** Whether a list has the sender, or a beginning of its callsign with a `*`. `sender`: key of the sender. */
export function isBlockedBy(blocked: readonly string[], sender: string): boolean {
  return blocked.some((entry) => (entry.endsWith('*') ? sender.startsWith(entry.slice(0, -1)) : sender === entry))
}
