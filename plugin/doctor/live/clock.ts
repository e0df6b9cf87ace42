import type { Fetch } from '../../provider/http/limited-fetch.ts'
import type { Verdict } from './verdict.ts'

/**
 * Difference to the IdP's clock that causes a warning, in milliseconds. Some IdPs refuse assertions from about 15 s
 * ahead. Network and rounding cause less than 5 s.
 */
const WARN_MS = 5_000
/**
 * Difference to the IdP's clock, in milliseconds, at which ID tokens seem to be from the future, and one-minute codes
 * expired.
 */
const FAIL_MS = 60_000

/**
 * Compares the IdP's clock with this machine's clock. Reads the IdP's time in the `Date` header of each response to
 * `fetch`.
 */
export interface ClockWatch {
  readonly fetch: Fetch
  /**
   * Returns one verdict on the difference between the IdP's clock and this machine's, or an empty list if the IdP never
   * answered.
   */
  verdicts(): readonly Verdict[]
}

/** @param now returns the current time in milliseconds since 1970 */
export function watchClock(inner: Fetch, now: () => number): ClockWatch {
  let answered = false
  let least: ClockDifference | undefined
  return {
    fetch: async (url, init) => {
      const sent = now()
      const response = await inner(url, init)
      answered = true
      const idpTime = Date.parse(response.headers.get('date') ?? '')
      // Ignore a cached response, because its `Date` header has the time of the original response.
      if (Number.isNaN(idpTime) || response.headers.has('age')) return response
      // Add half a second, because the `Date` header omits fractions of a second. Source: RFC 9110, section 5.6.7.
      const localTime = (sent + now()) / 2
      const ahead = idpTime + 500 - localTime
      // Keep the smallest difference. Slow responses, and cached ones without `Age`, only make it look greater.
      if (least === undefined || Math.abs(ahead) < Math.abs(least.ahead)) least = { ahead, idpTime, localTime }
      return response
    },
    verdicts: () => (answered ? [judge(least)] : []),
  }
}

/**
 * The times of the IdP's clock and this machine's clock, in milliseconds since 1970. `ahead` is the lead of the IdP's
 * clock in milliseconds.
 */
interface ClockDifference {
  readonly ahead: number
  readonly idpTime: number
  readonly localTime: number
}

function judge(difference: ClockDifference | undefined): Verdict {
  const question = 'clock'
  if (difference === undefined) {
    const text =
      'No answer of the IdP has a usable `Date` header (Keycloak sends none, but a proxy in front of it may). Check yourself that both clocks are set by NTP.'
    return { question, verdict: 'warn', text }
  }
  const { ahead, idpTime, localTime } = difference
  const ms = Math.abs(ahead)
  if (ms <= WARN_MS) return { question, verdict: 'ok', text: 'differs by at most 5 s from the clock of this machine' }
  const [side, opposite] = ahead > 0 ? ['ahead of', 'behind'] : ['behind', 'ahead']
  const text = `The clock of the IdP is ${Math.round(ms / 1000)} s ${side} this machine's. Either the IdP's clock is wrong, or this one is ${opposite}. Tokens are only valid at certain times, so set both clocks by NTP. [IdP: ${timeOf(idpTime)}, this machine: ${timeOf(localTime)}]`
  return { question, verdict: ms > FAIL_MS ? 'fail' : 'warn', text }
}

function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
