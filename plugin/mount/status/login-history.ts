import { LOGIN_ERRORS, type LoginErrorCode } from '../../errors.ts'
import type { AuthLogEntry } from '../../host/port.ts'
import { printableText } from '../../log.ts'

const MOST_REFUSALS = 10

/** Something that was refused or failed. Times are milliseconds since 1970. */
export interface Refusal {
  /** The last time. */
  readonly time: number
  /** How often the same has happened, one such after the other or between others. */
  readonly times: number
  /** As in the authentication log: `login-failed`, `backchannel-logout-refused` and the like. */
  readonly event: string
  readonly code: LoginErrorCode
  readonly remedy: string
  /** Whose account it was about, where that is known. */
  readonly account: string | null
}

/** What the authentication log was told of logins, for each domain. */
export interface LoginHistory {
  note(entry: AuthLogEntry): void
  of(domainKey: string): { readonly lastLogin: number | null; readonly refusals: readonly Refusal[] }
}

interface DomainHistory {
  lastLogin: number | null
  /** The latest first. */
  refusals: readonly Refusal[]
}

/**
 * Keeps the last login and the last ten refusals of each domain. The same refusal again takes no further place: requests that anybody can
 * send, without an account, cannot push out those of others.
 *
 * @param domainKeys nothing is kept of others
 * @param now milliseconds since 1970
 */
export function createLoginHistory(domainKeys: Iterable<string>, now: () => number): LoginHistory {
  const domains = new Map<string, DomainHistory>()
  for (const key of domainKeys) domains.set(key, { lastLogin: null, refusals: [] })
  return {
    note({ event, message, domain, fields }) {
      const history = domains.get(domain)
      if (!history) return
      if (event === 'login') history.lastLogin = now()
      if (!isCode(fields.code)) return
      const account = typeof fields.user === 'string' ? printableText(fields.user) : null
      const refusal = { time: now(), times: 1, event, code: fields.code, remedy: printableText(message), account }
      const before = history.refusals.find((other) => isSame(other, refusal))
      const others = history.refusals.filter((other) => other !== before)
      history.refusals = [{ ...refusal, times: (before?.times ?? 0) + 1 }, ...others].slice(0, MOST_REFUSALS)
    },
    of(domainKey) {
      const { lastLogin, refusals } = domains.get(domainKey) ?? { lastLogin: null, refusals: [] }
      return { lastLogin, refusals }
    },
  }
}

function isCode(code: unknown): code is LoginErrorCode {
  return typeof code === 'string' && Object.hasOwn(LOGIN_ERRORS, code)
}

function isSame(one: Refusal, other: Refusal): boolean {
  return one.event === other.event && one.code === other.code && one.account === other.account
}
