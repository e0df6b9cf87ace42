import type { OpenSession, Sessions } from '../host/port.ts'
import type { AskAboutToken } from './introspection.ts'
import type { SessionReview } from './session-review.ts'

/** As many as are asked about at once. */
const TOGETHER = 8

/** A domain whose IdP is asked. */
export interface AskedDomain {
  readonly domainKey: string
  readonly ask: AskAboutToken
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
        const reviewed = await review.review(sessions.map(announced), domain.ask)
        failure ??= reviewed.failure
        if (isAway(reviewed.failure) && reviewed.ended + reviewed.active.length === 0) break
      }
    } catch (error) {
      failure ??= error
    }
    if (failure !== undefined && !closed) onFailure(domain.domainKey, failure)
  }

  function announced(session: OpenSession): OpenSession {
    return {
      signIn: session.signIn,
      async end() {
        await session.end()
        onEnded(session)
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
