import type { Fetch } from '../../provider/http/limited-fetch.ts'
import type { Verdict } from './verdict.ts'

/**
 * Some IdPs refuse assertions that are more than some 15 seconds ahead; a network and a rounded second explain less
 * than this.
 */
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
  let least: ClockDifference | undefined
  return {
    fetch: async (url, init) => {
      const sent = now()
      const response = await inner(url, init)
      answered = true
      const told = Date.parse(response.headers.get('date') ?? '')
      // A cache tells the time at which it was filled.
      if (Number.isNaN(told) || response.headers.has('age')) return response
      // The header leaves out what is left of its second. Source: RFC 9110, section 5.6.7.
      const here = (sent + now()) / 2
      const ahead = told + 500 - here
      // A cache that does not say so and a slow answer make a difference look greater, never smaller.
      if (least === undefined || Math.abs(ahead) < Math.abs(least.ahead)) least = { ahead, there: told, here }
      return response
    },
    verdicts: () => (answered ? [judge(least)] : []),
  }
}

/** Milliseconds; `there` and `here` since 1970. */
interface ClockDifference {
  readonly ahead: number
  readonly there: number
  readonly here: number
}

function judge(difference: ClockDifference | undefined): Verdict {
  const question = 'clock'
  if (difference === undefined) {
    const text =
      'No answer of the IdP has a usable `Date` (Keycloak sends none, but the proxy before it may): see for yourself that both machines take the time from the network (NTP).'
    return { question, verdict: 'warn', text }
  }
  const { ahead, there, here } = difference
  const ms = Math.abs(ahead)
  if (ms <= WARN_MS) return { question, verdict: 'ok', text: 'as this machine has it, within 5 s' }
  const [side, other] = ahead > 0 ? ['ahead of', 'behind'] : ['behind', 'ahead']
  const text = `The clock of the IdP is ${Math.round(ms / 1000)} s ${side} this machine's. Either that one is wrong, or this one is ${other}. Tokens are judged by the time: let both machines take it from the network (NTP). [there: ${timeOf(there)}, here: ${timeOf(here)}]`
  return { question, verdict: ms > FAIL_MS ? 'fail' : 'warn', text }
}

function timeOf(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`
}
