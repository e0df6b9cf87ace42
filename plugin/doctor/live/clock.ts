import type { Fetch } from '../../provider/http/limited-fetch.ts'
import type { Verdict } from './verdict.ts'

/** Some IdPs refuse assertions that are more than some 15 seconds ahead; a network and a rounded second explain less than this. */
const WARN_MS = 5_000
/** ID tokens of the future, and codes that live for a minute, end logins from here on. */
const FAIL_MS = 60_000

/** Compares the clock of an IdP with this machine's, by all answers that come through `fetch`. */
export interface ClockWatch {
  readonly fetch: Fetch
  /** One; none where no answer came at all. */
  verdicts(): readonly Verdict[]
}

/** @param now milliseconds since 1970 */
export function watchClock(inner: Fetch, now: () => number): ClockWatch {
  let answered = false
  let least: number | undefined
  return {
    fetch: async (url, init) => {
      const sent = now()
      const response = await inner(url, init)
      answered = true
      const told = Date.parse(response.headers.get('date') ?? '')
      // A cache tells the time at which it was filled.
      if (Number.isNaN(told) || response.headers.has('age')) return response
      // The header leaves out what is left of its second. Source: RFC 9110, section 5.6.7.
      const ahead = told + 500 - (sent + now()) / 2
      // A cache that does not say so and a slow answer make a difference look greater, never smaller.
      if (least === undefined || Math.abs(ahead) < Math.abs(least)) least = ahead
      return response
    },
    verdicts: () => (answered ? [judge(least)] : []),
  }
}

function judge(ahead: number | undefined): Verdict {
  const question = 'clock'
  if (ahead === undefined) {
    const text =
      'No answer of the IdP has a usable `Date` (Keycloak sends none, but the proxy before it may): see for yourself that both machines take the time from the network (NTP).'
    return { question, verdict: 'warn', text }
  }
  const ms = Math.abs(ahead)
  if (ms <= WARN_MS) return { question, verdict: 'ok', text: 'as this machine has it, within 5 s' }
  const difference = `The clock of the IdP is ${Math.round(ms / 1000)} s ${ahead > 0 ? 'ahead of' : 'behind'} this machine's.`
  const text = `${difference} Tokens are judged by the time: let both machines take it from the network (NTP).`
  return { question, verdict: ms > FAIL_MS ? 'fail' : 'warn', text }
}
