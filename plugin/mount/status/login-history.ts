import { LOGIN_ERRORS, type LoginErrorCode } from '../../errors.ts'
import type { AuthLogEntry } from '../../host/port.ts'
import { printableText } from '../../log.ts'

const MOST_REFUSALS = 10
const MOST_WARNINGS = 10

/** Events of logins that go on, or fail, in a way that an administrator should know: each is a {@link LoginWarning}. */
const WARNINGS: readonly string[] = ['userinfo-failed', 'account-under-other-id']

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

/** Something about logins that an administrator should mend. Times are milliseconds since 1970. */
export interface LoginWarning {
  /** The last time. */
  readonly time: number
  /** How often the same has happened. */
  readonly times: number
  /** As in the authentication log: `userinfo-failed`, `account-under-other-id`. */
  readonly event: string
  /** What happened, then what to do. */
  readonly message: string
  /** The account concerned, if there is one. */
  readonly account: string | null
  /** Another account of the same user, for `account-under-other-id`. */
  readonly otherAccount: string | null
}

/** What the authentication log was told of logins, for each domain. */
export interface LoginHistory {
  note(entry: AuthLogEntry): void
  of(domainKey: string): Readonly<DomainHistory>
}

interface DomainHistory {
  lastLogin: number | null
  /** The latest first. */
  refusals: readonly Refusal[]
  /** The latest first. */
  loginWarnings: readonly LoginWarning[]
}

/**
 * Keeps the last login, the last ten refusals and the last ten warnings of each domain. The same one again takes no
 * further place: requests that anybody can send, without an account, cannot push out those of others.
 *
 * @param domainKeys nothing is kept of others
 * @param now milliseconds since 1970
 */
export function createLoginHistory(domainKeys: Iterable<string>, now: () => number): LoginHistory {
  const domains = new Map<string, DomainHistory>()
  for (const key of domainKeys) domains.set(key, { lastLogin: null, refusals: [], loginWarnings: [] })
  return {
    note({ event, message, domain, fields }) {
      const history = domains.get(domain)
      if (!history) return
      if (event === 'login') history.lastLogin = now()
      const account = accountName(fields.user)
      const [text, time, times] = [printableText(message), now(), 1]
      if (WARNINGS.includes(event)) {
        const warning = { time, times, event, message: text, account, otherAccount: accountName(fields.otherAccount) }
        history.loginWarnings = withLatest(warning, history.loginWarnings, MOST_WARNINGS)
      }
      if (!isCode(fields.code)) return
      const refusal = { time, times, event, code: fields.code, remedy: text, account }
      history.refusals = withLatest(refusal, history.refusals, MOST_REFUSALS)
    },
    of: (domainKey) => ({ ...(domains.get(domainKey) ?? { lastLogin: null, refusals: [], loginWarnings: [] }) }),
  }
}

function accountName(id: unknown): string | null {
  return typeof id === 'string' ? printableText(id) : null
}

function isCode(code: unknown): code is LoginErrorCode {
  return typeof code === 'string' && Object.hasOwn(LOGIN_ERRORS, code)
}

type Occurrence = Pick<Refusal, 'event' | 'times' | 'account'> & { readonly code?: LoginErrorCode }

/** Puts one first. If the same happened before, it takes that one's place and counts on. */
function withLatest<Item extends Occurrence>(latest: Item, known: readonly Item[], most: number): readonly Item[] {
  const before = known.find((other) => isSame(other, latest))
  const others = known.filter((other) => other !== before)
  return [{ ...latest, times: (before?.times ?? 0) + 1 }, ...others].slice(0, most)
}

function isSame(one: Occurrence, other: Occurrence): boolean {
  return one.event === other.event && one.code === other.code && one.account === other.account
}
