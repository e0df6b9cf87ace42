import { createHash, randomBytes } from 'node:crypto'
import { parseCookie, stringifySetCookie } from 'cookie'
import { createSeal } from '../seal.ts'

/** Logins that take longer are forgotten. */
export const TRANSACTION_MS = 10 * 60_000
/** Logins that one browser may have under way. */
const MOST_PER_BROWSER = 10
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

export interface CookieRules {
  /** The callback comes in over TLS: `Secure`, and the `__Host-` prefix, so that no neighbouring host name can plant one. */
  readonly secure: boolean
  /** The answer comes as a POST from the IdP's page (`form_post`), which carries no `SameSite=Lax` cookie. */
  readonly crossSitePost: boolean
}

/**
 * Logins under way. Each lives in a cookie of its own, sealed and named by its state, and not in the host's session: parallel tabs
 * cannot overwrite one another, strict session cookies do not lose it on the way back, and a visitor who only looks at the login
 * page costs no memory.
 */
export interface Transactions {
  /** `setCookies` are values of `Set-Cookie` for the answer. */
  begin(
    login: Pick<Transaction, 'domainKey' | 'returnPath'>,
    rules: CookieRules,
    cookieHeader: string | undefined,
  ): { readonly transaction: Transaction; readonly setCookies: readonly string[] }
  /** The login that an answer belongs to, once: undefined when this browser began no such login, or long ago, or it is finished. */
  take(
    state: string,
    rules: CookieRules,
    cookieHeader: string | undefined,
  ): { readonly transaction: Transaction | undefined; readonly setCookies: readonly string[] }
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

  return {
    begin(login, rules, cookieHeader) {
      const transaction: Transaction = {
        ...login,
        state: randomText(),
        nonce: randomText(),
        codeVerifier: randomText(),
        startedAt: now(),
      }
      const name = cookieName(transaction.state, transaction.startedAt, rules)
      const sealed = seal.seal(JSON.stringify(transaction), name)
      const surplus = ownCookies(cookieHeader, rules).slice(0, -(MOST_PER_BROWSER - 1))
      return {
        transaction,
        setCookies: [...surplus.map((old) => expired(old, rules)), setCookie(name, sealed, TRANSACTION_MS, rules)],
      }
    },

    take(state, rules, cookieHeader) {
      const digest = digestOf(state)
      const name = ownCookies(cookieHeader, rules).find((candidate) => candidate.endsWith(`.${digest}`))
      if (!name) return { transaction: undefined, setCookies: [] }
      const setCookies = [expired(name, rules)]
      const opened = seal.open(parseCookie(cookieHeader ?? '')[name] ?? '', name)
      // Only we can have sealed it, so its shape is ours.
      const transaction = opened === null ? undefined : (JSON.parse(opened) as Transaction)
      const age = transaction ? now() - transaction.startedAt : Number.NaN
      const current = transaction?.state === state && age >= 0 && age <= TRANSACTION_MS
      return { transaction: current && finish(digest) ? transaction : undefined, setCookies }
    },
  }
}

/** 256 bits as 43 characters of base64url: fit for state, nonce and PKCE verifier alike. */
function randomText(): string {
  return randomBytes(32).toString('base64url')
}

function digestOf(state: string): string {
  return createHash('sha256').update(state).digest('base64url').slice(0, 22)
}

function prefix({ secure }: CookieRules): string {
  return `${secure ? '__Host-' : ''}oidc-login.`
}

// The time comes first in a fixed width, so that the names sort by age.
function cookieName(state: string, startedAt: number, rules: CookieRules): string {
  return `${prefix(rules)}${startedAt.toString(36).padStart(9, '0')}.${digestOf(state)}`
}

/** Names of this browser's transaction cookies, oldest first. */
function ownCookies(cookieHeader: string | undefined, rules: CookieRules): readonly string[] {
  return Object.keys(parseCookie(cookieHeader ?? ''))
    .filter((name) => name.startsWith(prefix(rules)))
    .sort()
}

function setCookie(name: string, value: string, maxAgeMs: number, { secure, crossSitePost }: CookieRules): string {
  return stringifySetCookie({
    name,
    value,
    path: '/',
    httpOnly: true,
    secure: secure || crossSitePost,
    sameSite: crossSitePost ? 'none' : 'lax',
    maxAge: Math.floor(maxAgeMs / 1000),
  })
}

function expired(name: string, rules: CookieRules): string {
  return setCookie(name, '', 0, rules)
}
