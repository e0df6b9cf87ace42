import { hash, randomBytes } from 'node:crypto'
import { createSeal } from '../../host/seal.ts'
import { type CookieRules, type Cookies, digestOf, fullName, readCookies, setCookie } from './login-cookie.ts'

/** Logins that take longer are forgotten. */
export const TRANSACTION_MS = 10 * 60_000
/** Logins that one browser may have under way. */
const MOST_PER_BROWSER = 10
/**
 * Of them in one request: nginx and Apache take header lines of 8 KB with their defaults, and the host's session and
 * what else this package keeps with a browser stand in the same one.
 */
const MOST_BYTES_PER_BROWSER = 4_500
/** Finished logins that are remembered, so that their answer cannot be used again; the oldest are forgotten first. */
const MOST_FINISHED = 10_000

/** One login under way: what the answer of the IdP is held against. */
export interface Transaction {
  readonly domainKey: string
  readonly state: string
  readonly nonce: string
  /** PKCE, RFC 7636. */
  readonly codeVerifier: string
  readonly returnPath: string | null
  /** Milliseconds since 1970. */
  readonly startedAt: number
}

/**
 * Logins under way. Each lives in a cookie of its own, sealed and named by its state, and not in the host's session:
 * parallel tabs cannot overwrite one another, strict session cookies do not lose it on the way back, and a visitor who
 * only looks at the login page costs no memory.
 */
export interface Transactions {
  /**
   * `setCookies` makes values of `Set-Cookie` for the answer. Where they have more bytes than there is room, the return
   * path is left out.
   */
  begin(
    login: Pick<Transaction, 'domainKey' | 'returnPath'>,
    rules: CookieRules,
    cookieHeader: string | undefined,
  ): { readonly transaction: Transaction; setCookies(room: number): readonly string[] }
  /**
   * The login that an answer belongs to, once: undefined when this browser began no such login, or long ago, or it is
   * finished.
   */
  take(
    state: string,
    rules: CookieRules,
    cookieHeader: string | undefined,
  ): { readonly transaction: Transaction | undefined; readonly setCookies: readonly string[] }
  /** Whether this browser has a login of the domain under way. */
  isUnderWay(domainKey: string, rules: CookieRules, cookieHeader: string | undefined): boolean
}

/** @param secret of the host; without one, logins under way end with the process */
export function createTransactions(secret: string | undefined, now: () => number): Transactions {
  const seal = createSeal(secret ?? randomBytes(32), 'login transaction')
  const finished = new Map<string, number>()

  function finish(digest: string): boolean {
    if (finished.has(digest)) return false
    for (const [oldest, until] of finished) {
      if (until > now() && finished.size < MOST_FINISHED) break
      finished.delete(oldest)
    }
    finished.set(digest, now() + TRANSACTION_MS)
    return true
  }

  function open(name: string, cookies: Cookies): Transaction | undefined {
    const opened = seal.open(cookies[name] ?? '', name)
    // Only we can have sealed it, so its shape is ours.
    const begun = opened === null ? undefined : (JSON.parse(opened) as Begun)
    const age = begun ? now() - begun.startedAt : Number.NaN
    return begun && age >= 0 && age <= TRANSACTION_MS ? transactionOf(begun) : undefined
  }

  return {
    begin(login, rules, cookieHeader) {
      const begun: Begun = { ...login, seed: randomBytes(32).toString('base64url'), startedAt: now() }
      const transaction = transactionOf(begun)
      const name = cookieName(transaction.state, transaction.startedAt, rules)
      const setCookiesFor = (returnPath: string | null) => {
        const sealed = seal.seal(JSON.stringify({ ...begun, returnPath }), name)
        const surplus = surplusBeside(name.length + sealed.length, readCookies(cookieHeader), rules)
        return [...surplus.map((old) => expired(old, rules)), setCookie(name, sealed, TRANSACTION_MS, rules)]
      }
      return {
        transaction,
        setCookies(room) {
          const setCookies = setCookiesFor(login.returnPath)
          return setCookies.join('').length <= room ? setCookies : setCookiesFor(null)
        },
      }
    },

    take(state, rules, cookieHeader) {
      const digest = digestOf(state)
      const cookies = readCookies(cookieHeader)
      const name = ownCookies(cookies, rules).find((candidate) => candidate.endsWith(`.${digest}`))
      if (!name) return { transaction: undefined, setCookies: [] }
      const setCookies = [expired(name, rules)]
      const transaction = open(name, cookies)
      const current = transaction?.state === state
      return { transaction: current && finish(digest) ? transaction : undefined, setCookies }
    },

    isUnderWay(domainKey, rules, cookieHeader) {
      const cookies = readCookies(cookieHeader)
      return ownCookies(cookies, rules).some((name) => open(name, cookies)?.domainKey === domainKey)
    },
  }
}

/** What lies in the cookie: three values of a login in the room of one. */
interface Begun extends Pick<Transaction, 'domainKey' | 'returnPath' | 'startedAt'> {
  /** 256 random bits, which nobody learns from what is made of them. */
  readonly seed: string
}

function transactionOf({ seed, ...begun }: Begun): Transaction {
  const secretFor = (purpose: string) => hash('sha256', `${purpose} ${seed}`, 'base64url')
  return { ...begun, state: secretFor('state'), nonce: secretFor('nonce'), codeVerifier: secretFor('verifier') }
}

function prefix(rules: CookieRules): string {
  return fullName('oidc-login.', rules)
}

// The time comes first in a fixed width, so that the names sort by age.
function cookieName(state: string, startedAt: number, rules: CookieRules): string {
  return `${prefix(rules)}${startedAt.toString(36).padStart(9, '0')}.${digestOf(state)}`
}

/** Names of this browser's transaction cookies, oldest first. */
function ownCookies(cookies: Cookies, rules: CookieRules): readonly string[] {
  return Object.keys(cookies)
    .filter((name) => name.startsWith(prefix(rules)))
    .sort()
}

/** The oldest, as far as a new one of that many bytes needs their room. */
function surplusBeside(bytes: number, cookies: Cookies, rules: CookieRules): readonly string[] {
  let room = MOST_BYTES_PER_BROWSER - bytes
  const newestFirst = [...ownCookies(cookies, rules)].reverse()
  const stay = newestFirst.findIndex((name, index) => {
    room -= name.length + (cookies[name] ?? '').length
    return room < 0 || index >= MOST_PER_BROWSER - 1
  })
  return stay < 0 ? [] : newestFirst.slice(stay)
}

function expired(name: string, rules: CookieRules): string {
  return setCookie(name, '', 0, rules)
}
