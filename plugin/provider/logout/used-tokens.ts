import { hash } from 'node:crypto'
import { LoginError } from '../../errors.ts'
import type { Logout } from './logout-token.ts'

/** Tokens that were used and could come again; the oldest are forgotten first. Each counts for 10 minutes at most. */
const MOST_USED = 10_000

/** What several processes know together of what was used. */
export interface SharedUse {
  /** True for the first call with a key, of whichever process, until then. */
  once?(key: string, until: number): Promise<boolean>
  /** Takes it back. */
  release?(key: string): Promise<void>
}

export interface UsedTokensDeps {
  /** Key of the domain: processes share what they know for all domains. */
  readonly domainKey: string
  readonly shared: SharedUse | undefined
  /** Milliseconds since 1970. */
  readonly now: () => number
}

/**
 * Which logout tokens have done their work, by issuer and `jti` (OpenID Connect Back-Channel Logout 1.0, section 2.6).
 */
export interface UsedTokens {
  /** As far as this process knows; nobody is asked. @throws LoginError `logout_token_invalid` */
  assertUnused(logout: Logout): void
  /**
   * Lets a token do its work, once. Where `act` rejects, so that what it was for is not done, the token may come again.
   *
   * @throws LoginError `logout_token_invalid`, `host_failed`; and what `act` rejects with, to a copy that came
   *   meanwhile too
   */
  use<Result>(logout: Logout, act: () => Promise<Result>): Promise<Result>
}

export function createUsedTokens({ domainKey, shared, now }: UsedTokensDeps): UsedTokens {
  const used = new Map<string, number>()
  const atWork = new Map<string, Promise<unknown>>()

  function assertUnused(logout: Logout): void {
    if (used.has(keyOf(logout))) throw refusal(BEFORE)
  }

  function remember(key: string, until: number): void {
    for (const [oldest, end] of used) {
      if (end > now() && used.size < MOST_USED) break
      used.delete(oldest)
    }
    used.set(key, until)
  }

  async function amongAll<Result>(key: string, until: number, act: () => Promise<Result>): Promise<Result> {
    const mark = `logout token ${key}`
    if ((await shared?.once?.(mark, until).catch(hostFailed)) === false) throw refusal(BEFORE)
    return act().catch(async (error: unknown) => {
      // The IdP is told of what failed before; a token that cannot be given back is one attempt less.
      await shared?.release?.(mark).catch(() => undefined)
      throw error
    })
  }

  function keyOf({ issuer, jti }: Logout): string {
    return hash('sha256', JSON.stringify([domainKey, issuer, jti]), 'base64url')
  }

  return {
    assertUnused,
    async use(logout, act) {
      assertUnused(logout)
      const key = keyOf(logout)
      const first = atWork.get(key)
      if (first !== undefined) {
        // An IdP that waited in vain sends it again: where the first one fails, so does this one, and the IdP has
        // another try.
        await first
        throw refusal(BEFORE)
      }
      const until = logout.refusedFromS * 1000
      const done = amongAll(key, until, act)
      atWork.set(key, done)
      try {
        const result = await done
        remember(key, until)
        return result
      } finally {
        atWork.delete(key)
      }
    },
  }
}

const BEFORE = 'it was used before'

function refusal(reason: string): LoginError {
  return new LoginError('logout_token_invalid', { details: { reason } })
}

function hostFailed(cause: unknown): never {
  throw new LoginError('host_failed', { cause })
}
