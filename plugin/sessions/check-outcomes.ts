import type { Clock } from '../clock.ts'
import { LoginError } from '../errors.ts'
import { logFailure } from '../host/auth-log.ts'
import type { Host, OpenSession } from '../host/port.ts'
import { isLostAnswer } from '../provider/faults/unanswered.ts'
import type { CheckOutcome } from './session-check.ts'
import { UncheckedSessions } from './unchecked-sessions.ts'

/** Limit of remembered sessions without an answer to their renewal, and of remembered sessions that the IdP refused. */
const MOST_REMEMBERED = 1_000
/** How long checks pause after a failure of the IdP, in milliseconds. The pause is shorter if `everyMs` is shorter. */
const PAUSE_MS = 60_000
/**
 * Errors that concern one session and not the whole IdP. For example, Entra ID sends such an error if a second factor
 * is required, or if the account was deleted.
 */
const SESSION_ERRORS = new Set<unknown>([
  'interaction_required',
  'login_required',
  'consent_required',
  'invalid_request',
])

export interface CheckOutcomesOptions {
  readonly host: Pick<Host, 'authLog' | 'clientAddress'>
  readonly clock: Clock
  /** Time between two checks of a session in use, in milliseconds. */
  readonly everyMs: number
  readonly isClosing: () => boolean
}

/**
 * Tracks the outcomes of one domain's session checks, and logs them.
 *
 * - An *outage* begins with a failure that concerns more than one session. It is logged once, and pauses the checks for
 *   up to a minute. It ends with the next answer of the IdP.
 * - If an answer of the token endpoint is lost, a refresh token may be used up. The first lost answer of an outage is
 *   logged too.
 * - A failure that concerns only one session does not pause the checks. It is logged again only after the IdP has
 *   answered for that session.
 */
export class CheckOutcomes {
  readonly #domainKey: string
  readonly #options: CheckOutcomesOptions
  readonly #uncheckedSessions: UncheckedSessions
  /** Ids of sessions for which the answer to a renewal was lost, and which the IdP has not answered for since. */
  readonly #lostRenewals = new Set<string>()
  /** Ids of sessions that failed their last check with one of {@link SESSION_ERRORS}, the latest last. */
  readonly #refused = new Set<string>()
  #isFailing = false
  #isLossLogged = false
  /** When the pause of the checks ends, in milliseconds of `Clock.elapsed`. `#loggedAt` has the same unit. */
  #pausedUntil = 0
  #loggedAt = Number.NEGATIVE_INFINITY

  constructor(domainKey: string, options: CheckOutcomesOptions) {
    const { host, clock, everyMs } = options
    this.#domainKey = domainKey
    this.#options = options
    this.#uncheckedSessions = new UncheckedSessions(domainKey, host, clock, everyMs)
  }

  /** Whether an outage of the session checks is in progress. */
  get isFailing(): boolean {
    return this.#isFailing
  }

  /** Whether the session checks are paused. */
  get isPaused(): boolean {
    return this.#options.clock.elapsed() < this.#pausedUntil
  }

  /** Ends the pause of the session checks, so that the next check can run. */
  resume(): void {
    this.#pausedUntil = 0
  }

  /** Returns the number of sessions in use that the plugin cannot check at the IdP. */
  unchecked(): number {
    return this.#uncheckedSessions.count()
  }

  /**
   * Processes the outcome of a session check. Logs the session if it ended at the IdP. Ends the outage if the IdP
   * answered.
   */
  noteOutcome({ id, signIn }: OpenSession, outcome: CheckOutcome): void {
    if (outcome === 'unknown') return
    if (outcome === 'unchecked') {
      this.#uncheckedSessions.note(id)
      return
    }
    this.#uncheckedSessions.forget(id)
    this.#refused.delete(id)
    this.#isFailing = false
    this.#isLossLogged = false
    this.#pausedUntil = 0
    const wasRenewalLost = this.#lostRenewals.delete(id)
    if (outcome === 'active' || outcome === 'refused') return
    const { code, details = {} } = outcome.reason ?? {}
    this.#options.host.authLog({
      level: code === 'id_token_invalid' ? 'warn' : 'info',
      event: 'session-ended',
      message: `A session ended at the IdP, so it ended here too.${wasRenewalLost ? LOST_ANSWER : ''}`,
      domain: this.#domainKey,
      fields: {
        user: signIn.userId,
        ...Object.fromEntries(REASONS.flatMap((name) => (name in details ? [[name, details[name]]] : []))),
      },
    })
  }

  /**
   * Processes a failed session check. Logs the start of an outage, at most once per `everyMs`. Also logs the first lost
   * answer of the token endpoint in an outage.
   */
  noteFailure({ id }: OpenSession, error: unknown): void {
    const { host, clock, everyMs, isClosing } = this.#options
    const isLost = isLostAnswer(error)
    if (isLost && this.#lostRenewals.size < MOST_REMEMBERED) this.#lostRenewals.add(id)
    const now = clock.elapsed()
    const isOutage = !(error instanceof LoginError && SESSION_ERRORS.has(error.details.error))
    if (isOutage) this.#pausedUntil = now + Math.min(everyMs, PAUSE_MS)
    else if (this.#isRefusedAgain(id)) return
    const isDue = !this.#isFailing && now - this.#loggedAt >= everyMs && !isClosing()
    if (isDue || (isLost && !this.#isLossLogged)) {
      this.#loggedAt = now
      this.#isLossLogged ||= isLost
      const failure = error instanceof LoginError ? error : new LoginError('host_failed', { cause: error })
      logFailure(host, null, this.#domainKey, 'session-check-failed', failure)
    }
    this.#isFailing ||= isOutage
  }

  /**
   * Whether the IdP also refused this session at its last check. A user may postpone a second factor for days, so a
   * repeated refusal is not logged.
   */
  #isRefusedAgain(id: string): boolean {
    const wasRefused = this.#refused.delete(id)
    this.#refused.add(id)
    const [oldest] = this.#refused
    if (this.#refused.size > MOST_REMEMBERED && oldest !== undefined) this.#refused.delete(oldest)
    return wasRefused
  }
}

const LOST_ANSWER =
  ' The answer to the previous renewal of its tokens was lost. An IdP that accepts each refresh token only once then ends the session. The user has to sign in again.'
/** Members of an error's `details` that contain the reason of a failure. */
const REASONS = ['error', 'errorDescription', 'reason']
