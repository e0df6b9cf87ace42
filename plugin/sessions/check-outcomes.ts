import type { Clock } from '../clock.ts'
import { LoginError } from '../errors.ts'
import { logFailure } from '../host/auth-log.ts'
import type { Host, OpenSession } from '../host/port.ts'
import { gotNoAnswer, isLostAnswer } from '../provider/faults/unanswered.ts'
import type { Answer } from './session-check.ts'
import { UncheckedSessions } from './unchecked-sessions.ts'

/** Sessions of one domain that a lost answer, or a refusal, is remembered of. */
const MOST_REMEMBERED = 1_000
/** An IdP that failed is left alone for that, or until its sessions are due again. */
const PAUSE_MS = 60_000
/**
 * What IdPs say of one session and not of themselves: Entra ID of a second factor that is due, others of an account
 * that is gone.
 */
const OF_ONE_SESSION = new Set<unknown>([
  'interaction_required',
  'login_required',
  'consent_required',
  'invalid_request',
])

export interface CheckOutcomesOptions {
  readonly host: Pick<Host, 'authLog' | 'clientAddress'>
  readonly clock: Clock
  /** How often sessions in use are asked about. */
  readonly everyMs: number
  readonly isClosing: () => boolean
}

/**
 * The outcomes of one domain's session checks, and the lines about them in the authentication log.
 *
 * An outage begins with a failure that is not about one session. It is logged once, pauses the checks for up to a
 * minute, and ends with the next answer. An answer of the token endpoint that was lost is logged once more in the same
 * outage, because it may have used up a refresh token. A failure that is about one session pauses nothing. It is logged
 * again only after the IdP has answered for that session.
 */
export class CheckOutcomes {
  readonly #domainKey: string
  readonly #options: CheckOutcomesOptions
  readonly #uncheckedSessions: UncheckedSessions
  /** Sessions to whose last renewal no answer came. */
  readonly #unanswered = new Set<string>()
  /** Sessions that the IdP refused at the last question for a reason of their own, the latest last. */
  readonly #refused = new Set<string>()
  #isFailing = false
  #isLossLogged = false
  /** Both of elapsed time. */
  #pausedUntil = 0
  #loggedAt = Number.NEGATIVE_INFINITY

  constructor(domainKey: string, options: CheckOutcomesOptions) {
    const { host, clock, everyMs } = options
    this.#domainKey = domainKey
    this.#options = options
    this.#uncheckedSessions = new UncheckedSessions(domainKey, host, clock, everyMs)
  }

  /** Whether an outage has begun and no answer came since. */
  get isFailing(): boolean {
    return this.#isFailing
  }

  /** Whether the IdP is left alone at the moment. */
  get isPaused(): boolean {
    return this.#options.clock.elapsed() < this.#pausedUntil
  }

  /** Ends the pause of an outage. */
  resume(): void {
    this.#pausedUntil = 0
  }

  /** Returns the number of sessions in use that the IdP can never be asked about. */
  unchecked(): number {
    return this.#uncheckedSessions.count()
  }

  noteAnswer({ id, signIn }: OpenSession, answer: Answer): void {
    if (answer === 'unknown') return
    if (answer === 'unchecked') {
      this.#uncheckedSessions.note(id)
      return
    }
    this.#uncheckedSessions.forget(id)
    this.#refused.delete(id)
    this.#isFailing = false
    this.#isLossLogged = false
    this.#pausedUntil = 0
    const wasUnanswered = this.#unanswered.delete(id)
    if (answer === 'active' || answer === 'refused') return
    const { code, details = {} } = answer.reason ?? {}
    this.#options.host.authLog({
      level: code === 'id_token_invalid' ? 'warn' : 'info',
      event: 'session-ended',
      message: `The IdP was asked about a session, and it is over there: it has ended here too.${wasUnanswered ? LOST : ''}`,
      domain: this.#domainKey,
      fields: {
        user: signIn.userId,
        ...Object.fromEntries(LOGGED.flatMap((name) => (name in details ? [[name, details[name]]] : []))),
      },
    })
  }

  /** Writes one line an outage, and in no case more often than sessions are asked about. */
  noteFailure({ id }: OpenSession, error: unknown): void {
    const { host, clock, everyMs, isClosing } = this.#options
    if (gotNoAnswer(error) && this.#unanswered.size < MOST_REMEMBERED) this.#unanswered.add(id)
    const now = clock.elapsed()
    const isOfAll = !(error instanceof LoginError && OF_ONE_SESSION.has(error.details.error))
    if (isOfAll) this.#pausedUntil = now + Math.min(everyMs, PAUSE_MS)
    else if (this.#isRefusedAgain(id)) return
    const isLost = isLostAnswer(error)
    const isNews = !this.#isFailing && now - this.#loggedAt >= everyMs && !isClosing()
    if (isNews || (isLost && !this.#isLossLogged)) {
      this.#loggedAt = now
      this.#isLossLogged ||= isLost
      const failure = error instanceof LoginError ? error : new LoginError('host_failed', { cause: error })
      logFailure(host, null, this.#domainKey, 'session-check-failed', failure)
    }
    this.#isFailing ||= isOfAll
  }

  /** A user may owe the IdP a second factor for days. */
  #isRefusedAgain(id: string): boolean {
    const isKnown = this.#refused.delete(id)
    this.#refused.add(id)
    const [oldest] = this.#refused
    if (this.#refused.size > MOST_REMEMBERED && oldest !== undefined) this.#refused.delete(oldest)
    return isKnown
  }
}

const LOST =
  ' The answer to the question before was lost, and an IdP that gives each refresh token once then ends the session: the person has to sign in again.'
/** Details that say why, as far as that is known. */
const LOGGED = ['error', 'errorDescription', 'reason']
