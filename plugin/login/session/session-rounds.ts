import type { OpenSession, Sessions, Tokens } from '../../host/port.ts'
import type { AskAboutToken } from './introspection.ts'
import type { SessionReview } from './session-review.ts'

/** As many as are asked about at once. */
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
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Whether a failure means that the IdP cannot be reached: then it is spared for as long as an answer would hold. */
  readonly isAway: (failure: unknown) => boolean
  readonly onEnded: (session: OpenSession) => void
  /** Called with the first of what failed in a round, and then not again for as long as an answer would hold. */
  readonly onFailure: (domainKey: string, failure: unknown) => void
}

/**
 * Asks the IdPs, over and over, about the sessions that are in use: nothing else tells of somebody who was disabled there. Who comes back
 * after a pause is asked about within 10 s, and does not first begin to work. One round at a time; the next pause begins when it is over.
 *
 * @returns ends it: nobody is asked about any more
 */
export function startSessionRounds(options: SessionRoundsOptions): () => void {
  const { everyMs, domains, inUse, review, now, isAway, onEnded, onFailure } = options
  /** By domain. */
  const sparedUntil = new Map<string, number>()
  const silentUntil = new Map<string, number>()
  let closed = false
  let timer = pause()

  function pause(): NodeJS.Timeout {
    return setTimeout(
      async () => {
        await Promise.all(domains.map(roundOf))
        if (!closed) timer = pause()
      },
      Math.min(everyMs, BETWEEN_ROUNDS_MS),
    ).unref()
  }

  /** Never rejects. */
  async function roundOf(domain: AskedDomain): Promise<void> {
    const { domainKey } = domain
    if (isAhead(sparedUntil.get(domainKey))) return
    try {
      for await (const sessions of together(inUse(domainKey, now() - everyMs))) {
        if (closed || !(await domain.introspects())) return
        const current = await Promise.all(sessions.map((session) => renewed(session, domain)))
        const { ended, active, failure } = await review.review(current.map(announced), domain.ask)
        if (failure === undefined) continue
        tell(domainKey, failure)
        if (!isAway(failure) || ended + active.length > 0) continue
        sparedUntil.set(domainKey, now() + everyMs)
        return
      }
    } catch (failure) {
      tell(domainKey, failure)
    }
  }

  /** Not when the clock was set back. */
  function isAhead(time = 0): boolean {
    return now() < time && time <= now() + everyMs
  }

  function tell(domainKey: string, failure: unknown): void {
    if (closed || isAhead(silentUntil.get(domainKey))) return
    silentUntil.set(domainKey, now() + everyMs)
    onFailure(domainKey, failure)
  }

  /**
   * A session is in use, and the IdP has to learn of that, or calls it idle after a while: half an hour at Keycloak, where a refresh token
   * that nobody uses runs out with the session, however busy the person is here.
   */
  async function renewed(session: OpenSession, domain: AskedDomain): Promise<OpenSession> {
    const { tokens } = session.signIn
    if (!tokens || !session.renewed || tokens.accessExpiresAt === null || tokens.accessExpiresAt > now()) return session
    // Whatever refuses, the question that follows says whether the session is over.
    const fresh = await domain.renew(tokens).catch(() => null)
    if (!fresh) return session
    try {
      return await session.renewed(fresh)
    } catch (failure) {
      // Of this one alone. It is asked about by what it has now: what it had may be used up.
      tell(domain.domainKey, failure)
      return { ...session, signIn: { ...session.signIn, tokens: fresh } }
    }
  }

  function announced(session: OpenSession): OpenSession {
    return {
      signIn: session.signIn,
      async end() {
        const isOver = await session.end()
        if (isOver) onEnded(session)
        return isOver
      },
    }
  }

  return () => {
    closed = true
    clearTimeout(timer)
  }
}

/** Those that can be asked about, some at a time. */
async function* together(sessions: AsyncIterable<OpenSession>): AsyncIterable<readonly OpenSession[]> {
  let some: OpenSession[] = []
  for await (const session of sessions) {
    if (!session.signIn.tokens) continue
    some.push(session)
    if (some.length < TOGETHER) continue
    yield some
    some = []
  }
  if (some.length > 0) yield some
}
