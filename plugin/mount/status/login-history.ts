import { LOGIN_ERRORS, type LoginErrorCode } from '../../errors.ts'
import type { AuthLogEntry } from '../../host/port.ts'
import { printableText } from '../../log.ts'

const MOST_REFUSALS = 10
const MOST_WARNINGS = 10

/** Events that are shown as a {@link LoginWarning}, because an administrator should know about them. */
const WARNINGS: readonly string[] = ['userinfo-failed', 'account-under-other-id']

/** A refused or failed login or logout. All times are milliseconds since 1970. */
export interface Refusal {
  /** When the refusal last occurred. */
  readonly time: number
  /** How often the refusal occurred. Other refusals may have occurred in between. */
  readonly times: number
  /** The event in the authentication log, such as `login-failed` or `backchannel-logout-refused`. */
  readonly event: string
  readonly code: LoginErrorCode
  readonly remedy: string
  /** The affected account. Null if it is unknown. */
  readonly account: string | null
}

/** A problem with logins that an administrator should fix. All times are milliseconds since 1970. */
export interface LoginWarning {
  /** When the warning last occurred. */
  readonly time: number
  /** How often the warning occurred. */
  readonly times: number
  /** The event in the authentication log: `userinfo-failed` or `account-under-other-id`. */
  readonly event: string
  /** The problem, and what to do about it. */
  readonly message: string
  /** The affected account. Null if no particular account is affected. */
  readonly account: string | null
  /** Another account of the same user, for `account-under-other-id`. Otherwise null. */
  readonly otherAccount: string | null
}

/** Stores the latest authentication log entries about logins, for each domain. */
export interface LoginHistory {
  note(entry: AuthLogEntry): void
  of(domainKey: string): Readonly<DomainHistory>
}

interface DomainHistory {
  lastLogin: number | null
  /** The refusals, the latest first. */
  refusals: readonly Refusal[]
  /** The warnings, the latest first. */
  loginWarnings: readonly LoginWarning[]
}

/**
 * Stores the last login, ten refusals and ten warnings of each domain. Equal entries share one place and a count, so a
 * stranger's repetitions displace no other entries.
 *
 * @param domainKeys entries of other domains are ignored
 * @param now returns milliseconds since 1970
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

/**
 * Adds an item at the front of a list. If the list contains an equal item, removes that item and adds its count to the
 * new one.
 */
function withLatest<Item extends Occurrence>(latest: Item, items: readonly Item[], most: number): readonly Item[] {
  const earlier = items.find((item) => isSame(item, latest))
  const different = items.filter((item) => item !== earlier)
  return [{ ...latest, times: (earlier?.times ?? 0) + 1 }, ...different].slice(0, most)
}

function isSame(item: Occurrence, latest: Occurrence): boolean {
  return item.event === latest.event && item.code === latest.code && item.account === latest.account
}
