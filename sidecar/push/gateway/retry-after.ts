/**
 * A Retry-After in milliseconds from `now`; undefined for what is neither seconds nor a date (RFC 9110, 10.2.3), or is
 * past.
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return ms > 0 ? ms : undefined
}
