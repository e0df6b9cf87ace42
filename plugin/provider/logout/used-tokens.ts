import { hash } from 'node:crypto'
import { LoginError } from '../../errors.ts'
import type { Logout } from './logout-token.ts'

/**
 * Limit of remembered tokens. Beyond it, the oldest are dropped. A dropped token could be replayed until it is too old,
 * which takes at most 10 minutes.
 */
const MAX_REMEMBERED = 10_000

/** A record of used tokens that several processes share. */
export interface SharedUse {
  /**
   * Resolves to true for the first call with a key, in any process, and to false for later calls. The key may be
   * forgotten at `until`, in milliseconds since 1970.
   */
  once?(key: string, until: number): Promise<boolean>
  /** Forgets a key, so that the next call of `once` with this key resolves to true. */
  release?(key: string): Promise<void>
}

export interface UsedTokensDeps {
  /** The domain's key. It distinguishes the domain's used tokens, because all domains share one {@link SharedUse}. */
  readonly domainKey: string
  readonly shared: SharedUse | undefined
  /** Returns the current time in milliseconds since 1970. */
  readonly now: () => number
}

/** Remembers used logout tokens by issuer and `jti` (OpenID Connect Back-Channel Logout 1.0, section 2.6). */
export interface UsedTokens {
  /**
   * Refuses a logout token that this process has already used. Does not check {@link SharedUse}.
   *
   * @throws LoginError `logout_token_invalid`
   */
  assertUnused(logout: Logout): void
  /**
   * Runs `act` once for each token. If `act` rejects, the token may be used again.
   *
   * @throws LoginError `logout_token_invalid`, `host_failed`; and the errors of `act`, also of a running call with the
   *   token
   */
  use<Result>(logout: Logout, act: () => Promise<Result>): Promise<Result>
}

export function createUsedTokens({ domainKey, shared, now }: UsedTokensDeps): UsedTokens {
  const used = new Map<string, number>()
  const inProgress = new Map<string, Promise<unknown>>()

  function assertUnused(logout: Logout): void {
    if (used.has(keyOf(logout))) throw refusal(ALREADY_USED)
  }

  function remember(key: string, until: number): void {
    for (const [oldest, end] of used) {
      if (end > now() && used.size < MAX_REMEMBERED) break
      used.delete(oldest)
    }
    used.set(key, until)
  }

  async function useAmongProcesses<Result>(key: string, until: number, act: () => Promise<Result>): Promise<Result> {
    const sharedKey = `logout token ${key}`
    if ((await shared?.once?.(sharedKey, until).catch(hostFailed)) === false) throw refusal(ALREADY_USED)
    return act().catch(async (error: unknown) => {
      // If `release` fails too, ignore its error, so that the IdP gets the error of `act`. The IdP's retry with the
      // same token is then refused.
      await shared?.release?.(sharedKey).catch(() => undefined)
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
      const first = inProgress.get(key)
      if (first !== undefined) {
        // The IdP repeats a token if the answer takes long. Fail if the first request fails, so that the IdP may retry.
        await first
        throw refusal(ALREADY_USED)
      }
      const until = logout.refusedFromS * 1000
      const done = useAmongProcesses(key, until, act)
      inProgress.set(key, done)
      try {
        const result = await done
        remember(key, until)
        return result
      } finally {
        inProgress.delete(key)
      }
    },
  }
}

const ALREADY_USED = 'it was already used'

function refusal(reason: string): LoginError {
  return new LoginError('logout_token_invalid', { details: { reason } })
}

function hostFailed(cause: unknown): never {
  throw new LoginError('host_failed', { cause })
}
