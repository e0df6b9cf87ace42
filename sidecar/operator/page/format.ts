/** Formats a whole number with thousands separators. */
export function count(value: number): string {
  return value.toLocaleString('en')
}

/** Formats a count with its noun: `1 station`, `2,640 stations`. The plural must end in s. */
export function counted(value: number, noun: string): string {
  return `${count(value)} ${noun}${value === 1 ? '' : 's'}`
}

const BYTE_UNITS = ['B', 'kB', 'MB', 'GB', 'TB'] as const

/** Formats a number of bytes in the decimal unit that leaves at most three digits before the decimal point. */
export function bytes(value: number): string {
  if (!Number.isFinite(value)) return 'unknown'
  let scaled = value
  let unit = 0
  while (scaled >= 999.5 && unit < BYTE_UNITS.length - 1) {
    scaled /= 1000
    unit += 1
  }
  return `${scaled.toFixed(unit === 0 || scaled >= 99.95 ? 0 : 1)} ${BYTE_UNITS[unit]}`
}

const SECOND_MS = 1000
const UNITS = [
  ['d', 86_400],
  ['h', 3600],
  ['min', 60],
  ['s', 1],
] as const

/**
 * Formats a duration in its two largest units. A negative duration is shown as 0; it can occur after the clock was set.
 */
export function duration(ms: number): string {
  let seconds = Math.max(0, Math.floor(ms / SECOND_MS))
  const parts: string[] = []
  for (const [name, size] of UNITS) {
    if (parts.length === 0 && seconds < size && size > 1) continue
    parts.push(`${Math.floor(seconds / size)} ${name}`)
    seconds %= size
  }
  return parts.slice(0, 2).join(' ')
}

/** Formats a time in UTC: `2026-01-31 23:59:59`. */
export function dateTime(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
}
