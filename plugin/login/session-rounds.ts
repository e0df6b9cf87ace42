import type { OpenSession, Sessions, Tokens } from '../host/port.ts'
import type { AskAboutToken } from './introspection.ts'
import type { SessionReview } from './session-review.ts'

/** As many as are asked about at once. */
const TOGETHER = 8

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
  /** Pause between two rounds. */
  readonly everyMs: number
  readonly domains: readonly AskedDomain[]
  readonly inUse: NonNullable<Sessions['inUse']>
  readonly review: SessionReview
  /** Milliseconds since 1970. */
  readonly now: () => number
  /** Whether a failure means that the IdP cannot be reached: then it is spared until the next round. */
  readonly isAway: (failure: unknown) => boolean
  readonly onEnded: (session: OpenSession) => void
  /** Called once a round and domain at most, with the first of what failed. */
  readonly onFailure: (domainKey: string, failure: unknown) => void
}

/**
 * Asks the IdPs, over and over, about the sessions that are in use: nothing else tells of somebody who was disabled there. Begins after
 * the first pause. One round at a time; the next pause begins when it is over.
 *
 * @returns ends it: nobody is asked about any more
 */
export function startSessionRounds(options: SessionRoundsOptions): () => void {
  const { everyMs, domains, inUse, review, now, isAway, onEnded, onFailure } = options
  let closed = false
  let lookedAt = now()
  let timer = pause()

  function pause(): NodeJS.Timeout {
    return setTimeout(async () => {
      const since = lookedAt
      lookedAt = now()
      await Promise.all(domains.map((domain) => roundOf(domain, since)))
      if (!closed) timer = pause()
    }, everyMs).unref()
  }

  /** Never rejects. */
  async function roundOf(domain: AskedDomain, since: number): Promise<void> {
    let failure: unknown
    try {
      for await (const sessions of together(inUse(domain.domainKey, since))) {
        if (closed || !(await domain.introspects())) return
        const current = await Promise.all(sessions.map((session) => renewed(session, domain)))
        const reviewed = await review.review(current.map(announced), domain.ask)
        failure ??= reviewed.failure
        if (isAway(reviewed.failure) && reviewed.ended + reviewed.active.length === 0) break
      }
    } catch (error) {
      failure ??= error
    }
    if (failure !== undefined && !closed) onFailure(domain.domainKey, failure)
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
    return fresh ? session.renewed(fresh) : session
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
