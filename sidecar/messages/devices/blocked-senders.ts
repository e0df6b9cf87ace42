import { canonicalKey } from '../../aprs/station.ts'

/** The maximum number of entries in a device's list of blocked senders. */
export const MAX_BLOCKED = 50

/** Pattern of an entry in a list of blocked senders: a callsign, or the beginning of callsigns followed by `*`. */
export const BLOCKED_ENTRY = '^(?:[A-Za-z0-9][A-Za-z0-9-]{0,8}\\*?|\\*)$'

/** Converts a list of blocked senders for storage: in upper case, without SSIDs of 0, sorted, without duplicates. */
export function blockedList(entries: readonly string[]): readonly string[] {
  return [...new Set(entries.map(canonicalKey))].sort()
}

/** Whether a list of blocked senders contains the key `sender`. An entry may be a beginning followed by `*`. */
export function isBlockedBy(blocked: readonly string[], sender: string): boolean {
  return blocked.some((entry) => (entry.endsWith('*') ? sender.startsWith(entry.slice(0, -1)) : sender === entry))
}
