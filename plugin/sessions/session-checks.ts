import { type Clock, isLate, type Timer } from '../clock.ts'
import type { Host, OpenSession } from '../host/port.ts'
import { CheckOutcomes } from './check-outcomes.ts'
import { type CheckDeps, checkSession } from './session-check.ts'

/**
 * Limit of concurrent checks of one domain. Each domain has its own limit, so that an IdP that hangs delays no other
 * domain.
 */
const MOST_AT_ONCE = 8
/**
 * Time between two searches for due sessions, in milliseconds. A session that is used again after a long pause is
 * checked within this time.
 */
const LOOK_MS = 10_000
/**
 * How long `close` waits, in milliseconds. It must be longer than a renewal: the IdP's answer may take 8 s, and must
 * then be stored.
 */
const CLOSE_MS = 12_000
/**
 * When to check other sessions again, in milliseconds. Keycloak calls ended ones active until its logout token is
 * answered.
 */
const AGAIN_MS = [1_000, 30_000]

export interface ChecksOptions {
  readonly host: Host
  /** Provides `client`, the OpenID Connect client of the IdP. The first read of `client` creates it. */
  readonly provider: Pick<CheckDeps, 'client'>
  readonly clock: Clock
  /**
   * Time between two checks of a session in use, in milliseconds. 0 means no checks. Has no effect if the host does not
   * track the use of sessions.
   */
  readonly everyMs: number
  /** Applies the groups of a renewed ID token. If undefined, the groups of renewed tokens have no effect. */
  readonly followGroups?: CheckDeps['followGroups']
}

/**
 * Checks with the IdP of one domain whether sessions are still alive. Only an answer of the IdP ends a session; a
 * failure never does.
 *
 * A session is *due* if it was used and its last check was `everyMs` ago. A timer looks for due sessions every 10 s.
 * `checkNow` checks the given sessions even if they are not due. A check is *under way* from its request to its
 * outcome. At most eight are under way at a time, and one per session. After a failure, {@link CheckOutcomes} pauses
 * the checks, and then allows one at a time until the IdP answers. After `close`, no check begins, and `close` waits
 * for the renewals under way.
 */
export class SessionChecks {
  readonly #domainKey: string
  readonly #options: ChecksOptions
  readonly #outcomes: CheckOutcomes
  /** The checks that are under way, by session id. */
  readonly #underWay = new Map<string, Promise<void>>()
  /**
   * Renewals under way, as promises that never reject. Other checks are not included, because interrupting them loses
   * no tokens.
   */
  readonly #renewals = new Set<Promise<unknown>>()
  readonly #repetitions = new Set<Timer>()
  #look: Timer | undefined
  #isClosed = false

  constructor(domainKey: string, options: ChecksOptions) {
    const { host, clock, everyMs } = options
    this.#domainKey = domainKey
    this.#options = options
    this.#outcomes = new CheckOutcomes(domainKey, { host, clock, everyMs, isClosing: () => this.#isClosed })
    if (everyMs > 0 && host.sessions.inUse) this.#lookLater()
  }

  /** Checks these sessions now, and again after 1 s and 30 s. Resolves after the first checks. Never rejects. */
  async checkNow(sessions: readonly OpenSession[]): Promise<void> {
    const check = () => {
      // Resume paused session checks, because an IdP that has just sent a logout token is reachable.
      this.#outcomes.resume()
      return this.#checkAll(sessions, 0)
    }
    await Promise.all(await check())
    if (sessions.length > 0 && !this.#isClosed) for (const delayMs of AGAIN_MS) this.#repeat(delayMs, check)
  }

  /** Returns the number of sessions in use that the plugin cannot check at the IdP. */
  unchecked(): number {
    return this.#outcomes.unchecked()
  }

  /**
   * Begins no further check, and waits up to 12 s for renewals, because a lost answer may end the session. Never
   * rejects.
   */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#look?.cancel()
    for (const timer of this.#repetitions) timer.cancel()
    if (this.#renewals.size > 0) await isLate(this.#options.clock, Promise.all(this.#renewals), CLOSE_MS)
  }

  #lookLater(): void {
    const { host, clock, everyMs } = this.#options
    this.#look = clock.after(Math.min(everyMs, LOOK_MS), async () => {
      const due = host.sessions.inUse?.(this.#domainKey, everyMs) ?? []
      // Skip sessions that another process renewed less than `everyMs / 2` ago, because they need no check yet.
      await this.#checkAll(due, everyMs / 2)
      if (!this.#isClosed) this.#lookLater()
    })
  }

  #repeat(delayMs: number, check: () => unknown): void {
    const timer = this.#options.clock.after(delayMs, () => {
      this.#repetitions.delete(timer)
      return check()
    })
    this.#repetitions.add(timer)
  }

  /**
   * Begins a check of each session, except sessions with a check under way. Never rejects.
   *
   * @returns the checks, after all have begun
   */
  async #checkAll(sessions: Iterable<OpenSession>, freshMs: number): Promise<readonly Promise<void>[]> {
    const begun: Promise<void>[] = []
    for (const session of sessions) {
      // During an outage, a single check shows whether the IdP answers again.
      while (this.#underWay.size >= (this.#outcomes.isFailing ? 1 : MOST_AT_ONCE)) {
        await Promise.race(this.#underWay.values())
      }
      if (this.#isClosed || this.#outcomes.isPaused) break
      const { id } = session
      if (this.#underWay.has(id)) continue
      const check = this.#check(session, freshMs).finally(() => this.#underWay.delete(id))
      this.#underWay.set(id, check)
      begun.push(check)
    }
    return begun
  }

  async #check(session: OpenSession, freshMs: number): Promise<void> {
    const { host, provider, clock, followGroups = async () => true } = this.#options
    try {
      const outcome = await checkSession(session, {
        client: provider.client,
        lease: host.sessions.lease?.bind(host.sessions),
        freshMs,
        now: () => clock.now(),
        isClosing: () => this.#isClosed,
        untilClosed: (renewal) => this.#untilClosed(renewal),
        followGroups,
      })
      this.#outcomes.noteOutcome(session, outcome)
    } catch (failure) {
      this.#outcomes.noteFailure(session, failure)
    }
  }

  #untilClosed<Outcome>(renewal: Promise<Outcome>): Promise<Outcome> {
    const settled = renewal.catch(() => undefined).finally(() => this.#renewals.delete(settled))
    this.#renewals.add(settled)
    return renewal
  }
}
