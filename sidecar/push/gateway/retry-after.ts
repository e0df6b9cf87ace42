/**
 * Parses a Retry-After header into milliseconds from `now`. Returns undefined if it is neither seconds nor a date (RFC
 * 9110, 10.2.3), or lies in the past.
 */
export function parseRetryAfter(value: string | undefined, now: number): number | undefined {
  if (value === undefined) return undefined
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - now
  return ms > 0 ? ms : undefined
}
