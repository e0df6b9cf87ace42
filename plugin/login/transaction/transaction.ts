import { hash, randomBytes } from 'node:crypto'
import { createSeal } from '../../host/seal.ts'
import { type CookieRules, type Cookies, digestOf, fullName, setCookie } from './login-cookie.ts'

/** Time limit for a login. A login that takes longer fails. */
export const TRANSACTION_MS = 10 * 60_000
/** Limit of logins in progress per browser. */
const MOST_PER_BROWSER = 10
/**
 * Limit of bytes for all transaction cookies of a request. nginx and Apache accept header lines of 8 KB by default,
 * which other cookies share.
 */
const MOST_BYTES_PER_BROWSER = 4_500
/**
 * Limit of remembered logins that have finished. They are remembered so that each answer is accepted only once. Beyond
 * the limit, the oldest are dropped.
 */
const MOST_FINISHED = 10_000

/** A login in progress, with the values that are needed to verify the IdP's answer. */
export interface Transaction {
  readonly domainKey: string
  readonly state: string
  readonly nonce: string
  /** The PKCE code verifier (RFC 7636). */
  readonly codeVerifier: string
  readonly returnPath: string | null
  /** When the login began, in milliseconds since 1970. */
  readonly startedAt: number
}

/** A login that has just begun. */
export interface BegunLogin {
  readonly transaction: Transaction
  /**
   * Returns the `Set-Cookie` values that store the login in the browser. Omits the return path if the values would take
   * more than `room` bytes with it.
   */
  setCookies(room: number): readonly string[]
}

/** The outcome of {@link Transactions.take}. */
export interface TakenLogin {
  /**
   * The login that the IdP's answer belongs to. Undefined if this browser did not begin the login, if the login is too
   * old, or if it already finished.
   */
  readonly transaction: Transaction | undefined
  /** Values of `Set-Cookie` that remove the login's cookie. */
  readonly setCookies: readonly string[]
}

/**
 * Manages the logins in progress, each in its own sealed cookie, for parallel tabs. The host's session is not used,
 * because browsers do not send a strict session cookie on the return from the IdP. The server stores nothing until the
 * login finishes.
 */
export interface Transactions {
  begin(login: Pick<Transaction, 'domainKey' | 'returnPath'>, rules: CookieRules, cookies: Cookies): BegunLogin
  /** Finishes the login that has this `state`. Each login can be taken only once. */
  take(state: string, rules: CookieRules, cookies: Cookies): TakenLogin
  /** Whether this browser has a login of the domain in progress. */
  isUnderWay(domainKey: string, rules: CookieRules, cookies: Cookies): boolean
}

/** @param secret the host's secret. If it is undefined, a restart of the process ends all logins in progress */
export function createTransactions(secret: string | undefined, now: () => number): Transactions {
  const seal = createSeal(secret ?? randomBytes(32), 'login transaction')
  /**
   * Maps the digest of each finished login's state to the time at which the login's cookie expires. The oldest is
   * first.
   */
  const finished = new Map<string, number>()

  /** Marks a login as finished. Returns false if it was already finished. */
  function finish(digest: string): boolean {
    if (finished.has(digest)) return false
    for (const [oldest, expiresAt] of finished) {
      if (expiresAt > now() && finished.size < MOST_FINISHED) break
      finished.delete(oldest)
    }
    finished.set(digest, now() + TRANSACTION_MS)
    return true
  }

  function open(name: string, cookies: Cookies): Transaction | undefined {
    const opened = seal.open(cookies[name] ?? '', name)
    // Only this server can have sealed the value, so it needs no validation.
    const begun = opened === null ? undefined : (JSON.parse(opened) as SealedLogin)
    const ageMs = begun ? now() - begun.startedAt : Number.NaN
    return begun && ageMs >= 0 && ageMs <= TRANSACTION_MS ? transactionOf(begun) : undefined
  }

  return {
    begin({ domainKey, returnPath }, rules, cookies) {
      const startedAt = now()
      const begun: SealedLogin = { domainKey, returnPath, seed: randomBytes(32).toString('base64url'), startedAt }
      const transaction = transactionOf(begun)
      const name = cookieName(transaction.state, startedAt, rules)
      const setCookiesFor = (sealedPath: string | null) => {
        const sealed = seal.seal(JSON.stringify({ ...begun, returnPath: sealedPath }), name)
        const surplus = surplusBeside(name.length + sealed.length, cookies, rules)
        return [...surplus.map((old) => expired(old, rules)), setCookie(name, sealed, TRANSACTION_MS, rules)]
      }
      return {
        transaction,
        setCookies(room) {
          const setCookies = setCookiesFor(returnPath)
          return setCookies.join('').length <= room ? setCookies : setCookiesFor(null)
        },
      }
    },

    take(state, rules, cookies) {
      const digest = digestOf(state)
      const name = transactionNames(cookies, rules).find((candidate) => candidate.endsWith(`.${digest}`))
      if (!name) return { transaction: undefined, setCookies: [] }
      const setCookies = [expired(name, rules)]
      const transaction = open(name, cookies)
      const isCurrent = transaction?.state === state
      return { transaction: isCurrent && finish(digest) ? transaction : undefined, setCookies }
    },

    isUnderWay(domainKey, rules, cookies) {
      return transactionNames(cookies, rules).some((name) => open(name, cookies)?.domainKey === domainKey)
    },
  }
}

/** The content of a login's sealed cookie. To save bytes, state, nonce and code verifier are derived from a seed. */
interface SealedLogin extends Pick<Transaction, 'domainKey' | 'returnPath' | 'startedAt'> {
  /**
   * 256 random bits, base64url-encoded. State, nonce and code verifier are derived from these bits, but do not reveal
   * them.
   */
  readonly seed: string
}

function transactionOf({ seed, domainKey, returnPath, startedAt }: SealedLogin): Transaction {
  const derive = (purpose: string) => hash('sha256', `${purpose} ${seed}`, 'base64url')
  return {
    domainKey,
    returnPath,
    startedAt,
    state: derive('state'),
    nonce: derive('nonce'),
    codeVerifier: derive('verifier'),
  }
}

function prefix(rules: CookieRules): string {
  return fullName('oidc-login.', rules)
}

// Returns the name of a login's cookie. It begins with the time of the login in a fixed width, so that sorting the
// names sorts the logins by age.
function cookieName(state: string, startedAt: number, rules: CookieRules): string {
  return `${prefix(rules)}${startedAt.toString(36).padStart(9, '0')}.${digestOf(state)}`
}

/** Returns the names of this browser's transaction cookies, oldest first. */
function transactionNames(cookies: Cookies, rules: CookieRules): readonly string[] {
  return Object.keys(cookies)
    .filter((name) => name.startsWith(prefix(rules)))
    .sort()
}

/** Returns the names of the oldest cookies to remove, so that a new cookie of the given size fits. */
function surplusBeside(bytes: number, cookies: Cookies, rules: CookieRules): readonly string[] {
  let room = MOST_BYTES_PER_BROWSER - bytes
  const newestFirst = [...transactionNames(cookies, rules)].reverse()
  const firstSurplus = newestFirst.findIndex((name, index) => {
    room -= name.length + (cookies[name] ?? '').length
    return room < 0 || index >= MOST_PER_BROWSER - 1
  })
  return firstSurplus < 0 ? [] : newestFirst.slice(firstSurplus)
}

function expired(name: string, rules: CookieRules): string {
  return setCookie(name, '', 0, rules)
}
