import type { Credential } from 'firebase-admin/app'
import type { Clock } from '../../clock.ts'
import type { FcmAgent } from './fcm-agent.ts'

/** A service account, as its key file describes it. */
export interface ServiceAccount {
  readonly clientEmail: string
  /** PEM. */
  readonly privateKey: string
}

/**
 * Access tokens for one service account, one at a time. firebase-admin's own credential keeps a token for its life by the wall clock
 * and cannot be told to give one up, so that one that was withdrawn, or expired while the clock was wrong, fails for an hour.
 */
export interface AccessTokens extends Credential {
  /** How many tokens were given up before their time. */
  readonly renewals: number
  /**
   * FCM does not take the token that a call used which began after `renewals` of them. True when another one will be used from now
   * on; false when the last one was given up only seconds ago.
   */
  renew(renewals: number): boolean
}

const SCOPE = 'https://www.googleapis.com/auth/firebase.messaging'
/** What is left of a token's life when the next one is asked for. */
const SPARE_MS = 5 * 60_000
/** Google is not asked again so soon after it refused the account, nor a token given up again: each notification's try would do so. */
export const PAUSE_MS = 10_000

/** OAuth errors (RFC 6749, 4.1.2.1 and 5.2; Google's own) that last until somebody mends something; what else happens may pass. */
const REFUSAL =
  /\b(invalid_grant|invalid_client|invalid_request|invalid_scope|unauthorized_client|access_denied|account_disabled|deleted_client|disabled_client|admin_policy_enforced|org_internal)\b/

/** The OAuth error by which Google refuses the account, in a message that quotes its answer; undefined when it is about something else. */
export function refusalIn(message: string): string | undefined {
  return REFUSAL.exec(message)?.[1]
}

export function createAccessTokens(account: ServiceAccount, agent: FcmAgent, clock: Clock): AccessTokens {
  let current: { readonly token: string; readonly goodUntil: number } | undefined
  let asking: Promise<string> | undefined
  let refused: { readonly error: unknown; readonly until: number } | undefined
  let renewals = 0
  let renewedAt = Number.NEGATIVE_INFINITY

  async function ask(): Promise<string> {
    const { JWT } = await import('google-auth-library')
    const { clientEmail: email, privateKey: key } = account
    // A new one each time: it keeps its token, too.
    const client = new JWT({ email, key, scopes: [SCOPE], transporterOptions: { agent } })
    const { access_token, expiry_date } = await client.authorize()
    if (!access_token) throw new Error('The answer has no access token.')
    // The library has just added the life to the machine's clock.
    const lifeMs = Math.max(0, (expiry_date ?? 0) - Date.now())
    current = { token: access_token, goodUntil: clock.elapsed() + lifeMs - Math.min(SPARE_MS, lifeMs / 2) }
    return access_token
  }

  async function tokenForNow(): Promise<string> {
    if (refused && clock.elapsed() < refused.until) throw refused.error
    if (current && clock.elapsed() < current.goodUntil) return current.token
    try {
      asking ??= ask().finally(() => {
        asking = undefined
      })
      return await asking
    } catch (error) {
      const isRefusal = error instanceof Error && refusalIn(error.message) !== undefined
      refused = isRefusal ? { error, until: clock.elapsed() + PAUSE_MS } : undefined
      throw error
    }
  }

  return {
    // With no life left, whatever the clock says, firebase-admin keeps none and asks here for each message.
    getAccessToken: async () => ({ access_token: await tokenForNow(), expires_in: Number.NEGATIVE_INFINITY }),
    get renewals() {
      return renewals
    },
    renew(before) {
      if (renewals !== before) return true
      if (clock.elapsed() - renewedAt < PAUSE_MS) return false
      renewedAt = clock.elapsed()
      renewals += 1
      current = undefined
      return true
    },
  }
}
