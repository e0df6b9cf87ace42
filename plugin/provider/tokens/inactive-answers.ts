import { hash } from 'node:crypto'
import { LoginError } from '../../errors.ts'

/**
 * How long an IdP that called one token active is believed about others: as long as it takes to ask about those that are asked about
 * together. What it said minutes ago tells nothing: the client's secret, or its right to ask, may have changed since, and then every session
 * in use would be called inactive, and end.
 */
const BELIEVED_MS = 10_000
/** Refresh tokens that are remembered; each is asked about just after it was refused. */
const MOST_REFUSED = 1_000

/** A token that was called active. */
export interface Witness {
  readonly token: string
  /** As the IdP says now. */
  isActive(): Promise<boolean>
}

/**
 * What "not active" means from one IdP. It also says so to a client that it does not know by its authentication, or that may not ask about
 * the token (RFC 7662, section 2.2; authentik does).
 */
export interface InactiveAnswers {
  noteActive(witness: Witness): void
  /** @param error of the token endpoint, as it names it, when it was to renew by this token */
  noteRefused(refreshToken: string, error: unknown): void
  /**
   * Believes what else speaks for it, in this order: the IdP has just called another token active; it calls the one that it called active
   * last active now; its UserInfo endpoint, which wants nothing but the access token, does not take this one; its token endpoint does not
   * renew by this one. Of a refresh token it is believed as well while nothing speaks against it.
   *
   * @param isTaken whether the UserInfo endpoint takes the token; null: it cannot be asked
   * @throws LoginError `introspection_failed`: it may not mean the token; and what `isTaken` rejects with
   */
  assertMeant(token: string, isTaken: (() => Promise<boolean>) | null): Promise<void>
}

/** @param elapsed milliseconds from any point on; never goes back, whatever becomes of the clock */
export function createInactiveAnswers(elapsed: () => number): InactiveAnswers {
  let activeAt: number | undefined
  let activeAnswers = 0
  let witness: Witness | undefined
  let vouching: Promise<boolean> | undefined
  /** It was caught, or does not take this client's authentication, and has called nothing active since. */
  let isDoubted = false
  const refused = new Set<string>()

  function noteActive(active: Witness): void {
    activeAt = elapsed()
    activeAnswers += 1
    isDoubted = false
    witness = active
  }

  function doubt(): void {
    activeAt = undefined
    isDoubted = true
  }

  /** One question serves all that wait for it. */
  function isVouchedFor(): Promise<boolean> {
    vouching ??= askWitness().finally(() => {
      vouching = undefined
    })
    return vouching
  }

  async function askWitness(): Promise<boolean> {
    const asked = witness
    const isActive = await asked?.isActive().catch(() => undefined)
    if (asked && isActive) noteActive(asked)
    if (isActive === false && witness === asked) witness = undefined
    return isActive ?? false
  }

  return {
    noteActive,
    noteRefused(refreshToken, error) {
      // Keycloak and Glewlwyd say the last one of a wrong secret.
      if (error === 'invalid_client' || error === 'unauthorized_client') doubt()
      if (error !== 'invalid_grant') return
      refused.add(digestOf(refreshToken))
      for (const oldest of refused) {
        if (refused.size <= MOST_REFUSED) break
        refused.delete(oldest)
      }
    },
    async assertMeant(token, isTaken) {
      if (witness?.token === token) witness = undefined
      if (activeAt !== undefined && elapsed() - activeAt < BELIEVED_MS) return
      const before = activeAnswers
      if (await isVouchedFor()) return
      if (isTaken === null ? !isDoubted || refused.has(digestOf(token)) : !(await isTaken())) return
      // Meanwhile it may have called another token active.
      if (activeAnswers !== before) return
      doubt()
      throw new LoginError('introspection_failed', {
        details: {
          reason: isTaken
            ? 'tokens are called inactive that the UserInfo endpoint takes'
            : 'tokens are called inactive, while the IdP does not seem to know this client',
        },
      })
    },
  }
}

function digestOf(token: string): string {
  return hash('sha256', token, 'base64url')
}
