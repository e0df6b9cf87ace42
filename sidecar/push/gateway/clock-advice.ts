/**
 * Clock differences below this limit are ignored. Gateways tolerate larger ones, and a `Date` header is less precise:
 * it has whole seconds and may arrive late.
 */
const NEGLIGIBLE_MS = 60_000

const UNITS = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
] as const

/** Error codes of TLS that a wrong clock of this machine can cause. */
const BY_CLOCK: ReadonlySet<string> = new Set(['CERT_NOT_YET_VALID', 'CERT_HAS_EXPIRED'])

/**
 * Returns advice on this machine's clock, for the log. A wrong clock causes the same error as a wrong key.
 *
 * @param date the `Date` header of the gateway's answer
 * @param now the wall-clock time that the signature used, in milliseconds since 1970
 */
export function clockAdvice(date: string | undefined, now: number): string {
  const theirs = date === undefined ? Number.NaN : Date.parse(date)
  if (Number.isNaN(theirs)) return `check this machine's clock first (it says ${utc(now)})`
  const aheadMs = now - theirs
  if (Math.abs(aheadMs) < NEGLIGIBLE_MS) return "this machine's clock is right"
  const direction = aheadMs > 0 ? 'ahead of' : 'behind'
  return `set this machine's clock right first: it says ${utc(now)}, ${span(Math.abs(aheadMs))} ${direction} the gateway's`
}

/** Returns the error code of a failed connection for the log, with advice if this machine's clock may be the cause. */
export function withClockAdvice(code: string, now: number): string {
  return BY_CLOCK.has(code) ? `${code}: ${clockAdvice(undefined, now)}` : code
}

function span(ms: number): string {
  const [unit, size] = UNITS.find(([, size]) => ms >= size) ?? (['second', 1000] as const)
  const count = Math.round(ms / size)
  return `${count} ${unit}${count === 1 ? '' : 's'}`
}

function utc(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}
