/**
 * How long a server wants to be left alone: seconds, or a date. Undefined: it does not say so in a way that can be understood.
 * Source: RFC 9110, section 10.2.3.
 *
 * @param nowMs since 1970
 * @returns milliseconds, not below 0
 */
export function retryAfterMs(header: string | null, nowMs: number): number | undefined {
  const text = header?.trim() ?? ''
  if (/^\d{1,9}$/.test(text)) return Number(text) * 1000
  // `Date.parse` takes much for a date that is none, such as a lone number.
  if (!/^[A-Z][a-z]{2,8},? .*GMT$/.test(text)) return undefined
  const at = Date.parse(text)
  return Number.isNaN(at) ? undefined : Math.max(0, at - nowMs)
}
