import type { Clock, Timer } from '../clock.ts'
import { LoginError } from '../errors.ts'
import type { OpenSession, Sessions, Tokens } from '../host/port.ts'
import type { AskAboutToken } from './introspection.ts'
import type { SessionReview } from './session-review.ts'

/** As many as one IdP is asked about at once. */
const TOGETHER = 8
/** At most. */
const BETWEEN_ROUNDS_MS = 10_000

/** A domain whose IdP is asked. */
export interface AskedDomain {
  readonly domainKey: string
  readonly ask: AskAboutToken
  /** Null: nothing can come in the place of these. */
  renew(tokens: Tokens): Promise<Tokens | null>
  /** Whether the IdP can be asked. */
  introspects(): Promise<boolean>
}

export interface SessionRoundsOptions {
  /** How long an answer holds: a session in use is asked about again after that. */
  readonly everyMs: number
  readonly domains: readonly AskedDomain[]
  readonly inUse: NonNullable<Sessions['inUse']>
  readonly review: SessionReview
  readonly clock: Clock
  /** Whether a failure means that the IdP cannot be reached: then it is spared for as long as an answer would hold. */
  readonly isAway: (failure: unknown) => boolean
  readonly onEnded: (session: OpenSession) => void
  /**
   * Called with the first of what failed in a domain, or kept sessions from being asked about, and then not again for as long as an answer
   * would hold.
   */
  readonly onFailure: (domainKey: string, failure: unknown) => void
}

/**
 * Asks the IdPs, over and over, about the sessions that are in use: nothing else tells of somebody who was disabled there. Who comes back
 * after a pause is asked about within 10 s, and does not first begin to work. Each domain goes its own round, one at a time, whose next
 * pause begins when it is over: an IdP that answers slowly holds up its own alone. A session that was not asked about stays due.
 *
 * @returns ends it: nobody is asked about any more
 */
export function startSessionRounds(options: SessionRoundsOptions): () => void {
  const ends = options.domains.map((domain) => startRoundsOf(domain, options))
  return () => {
    for (const end of ends) end()
  }
}

function startRoundsOf(domain: AskedDomain, options: SessionRoundsOptions): () => void {
  const { everyMs, inUse, review, clock, isAway, onEnded, onFailure } = options
  const { domainKey } = domain
  const now = () => clock.now()
  let sparedUntil = 0
  let silentUntil = 0
  let closed = false
  let timer = pause()

  function pause(): Timer {
    return clock.after(Math.min(everyMs, BETWEEN_ROUNDS_MS), async () => {
      await round()
      if (!closed) timer = pause()
    })
  }

  /** Never rejects. */
  async function round(): Promise<void> {
    if (isAhead(sparedUntil)) return
    try {
      for await (const sessions of together(inUse(domainKey, now() - everyMs))) {
        if (closed || !(await goesOnAfter(sessions))) return
      }
    } catch (failure) {
      tell(failure)
    }
  }

  /** Asks about these. @returns false: that was enough for this round */
  async function goesOnAfter(sessions: readonly OpenSession[]): Promise<boolean> {
    if (!(await domain.introspects())) {
      for (const session of sessions) session.taken?.(true)
      return false
    }
    const { ended, active, notAsked, failed, failure } = await review.review(sessions, domain.ask, prepared)
    for (const session of sessions) if (!notAsked.includes(session)) session.taken?.(!failed.includes(session))
    if (failure !== undefined) tell(failure)
    const isSpared = failure !== undefined && isAway(failure) && ended + active.length === 0
    if (isSpared) sparedUntil = now() + everyMs
    if (notAsked.length > 0) tell(notAskedAbout(notAsked.length))
    return !isSpared && notAsked.length === 0
  }

  /** Not when the clock was set back. */
  function isAhead(time: number): boolean {
    return now() < time && time <= now() + everyMs
  }

  function tell(failure: unknown): void {
    if (closed || isAhead(silentUntil)) return
    silentUntil = now() + everyMs
    onFailure(domainKey, failure)
  }

  async function prepared(session: OpenSession): Promise<OpenSession> {
    return announced(await renewed(session))
  }

  /**
   * A session is in use, and the IdP has to learn of that, or calls it idle after a while: half an hour at Keycloak, where a refresh token
   * that nobody uses runs out with the session, however busy the person is here.
   */
  async function renewed(session: OpenSession): Promise<OpenSession> {
    const { tokens } = session.signIn
    if (!tokens || !session.renewed || tokens.accessExpiresAt === null || tokens.accessExpiresAt > now()) return session
    // Whatever refuses, the question that follows says whether the session is over.
    const fresh = await domain.renew(tokens).catch(() => null)
    if (!fresh) return session
    try {
      return await session.renewed(fresh)
    } catch (failure) {
      // Of this one alone. It is asked about by what it has now: what it had may be used up.
      tell(failure)
      return { ...session, signIn: { ...session.signIn, tokens: fresh } }
    }
  }

  function announced(session: OpenSession): OpenSession {
    return {
      signIn: session.signIn,
      async end() {
        const hasEnded = await session.end()
        if (hasEnded) onEnded(session)
        return hasEnded
      },
    }
  }

  return () => {
    closed = true
    timer.cancel()
  }
}

function notAskedAbout(sessions: number): LoginError {
  const reason = 'too many questions to this IdP wait for their turn, or it takes too long to answer'
  return new LoginError('introspection_failed', { details: { reason, sessions } })
}

/** Those that can be asked about, some at a time. */
async function* together(sessions: AsyncIterable<OpenSession>): AsyncIterable<readonly OpenSession[]> {
  let some: OpenSession[] = []
  for await (const session of sessions) {
    if (!session.signIn.tokens) {
      session.taken?.(true)
      continue
    }
    some.push(session)
    if (some.length < TOGETHER) continue
    yield some
    some = []
  }
  if (some.length > 0) yield some
}
