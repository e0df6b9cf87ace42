import type { Clock } from '../clock.ts'
import type { OpenSession } from '../host/port.ts'
import type { AskAboutToken, Introspection, SessionState } from './introspection.ts'
import { createSessionTurns } from './session-turns.ts'

/** Sessions of one domain that wait for a later look; more have none. */
const MOST_PAUSING = 1_000
/** Whoever has waited for longer is not asked about any more: the IdP is in trouble, and is spared. */
const LONGEST_WAIT_MS = 60_000

/**
 * Pauses before the later looks, in milliseconds. Keycloak ends sessions only once each of its clients has answered (5 s each at
 * most), and calls them active until then (measured with 26.4.5).
 */
const LATER_MS = [500, 5_000, 30_000]

/** What became of sessions that the IdP was asked about. */
export interface Reviewed {
  readonly ended: number
  readonly active: readonly OpenSession[]
  /** There were too many, or the IdP took too long. */
  readonly notAsked: readonly OpenSession[]
  /** Nobody could tell, since something failed. */
  readonly failed: readonly OpenSession[]
  /** The first of what failed; undefined: nothing did. */
  readonly failure: unknown
}

/**
 * Asks IdPs about sessions, and ends those that they have ended. Nothing else changes any, a failure least of all. Each domain has its own
 * line, so that an IdP that hangs keeps nobody waiting but its own.
 */
export interface SessionReview {
  /**
   * Never rejects.
   *
   * @param prepare what is asked about in the place of a session, found when its turn has come. Default: itself
   */
  review(
    sessions: readonly OpenSession[],
    ask: AskAboutToken,
    prepare?: (session: OpenSession) => Promise<OpenSession>,
  ): Promise<Reviewed>
  /**
   * The same in the background for those that went on, three times within 36 s.
   *
   * @param sessions of one domain
   * @param onReviewed called after each look, and when there is none since too many wait for theirs
   */
  reviewLater(sessions: readonly OpenSession[], ask: AskAboutToken, onReviewed: (reviewed: Reviewed) => void): void
  /** Nobody is asked about any more, and no answer that is still to come ends anything. */
  close(): void
}

type Outcome = SessionState | 'not_asked' | { readonly failure: unknown }

export function createSessionReview(introspection: Introspection, clock: Clock): SessionReview {
  const turns = createSessionTurns()
  const pauses = new Set<(hasPassed: boolean) => void>()
  /** Sessions that wait for a later look, by domain. */
  const pausing = new Map<string, number>()
  let closed = false

  async function reviewOne(
    session: OpenSession,
    ask: AskAboutToken,
    prepare: (session: OpenSession) => Promise<OpenSession>,
  ): Promise<Outcome> {
    const { domainKey } = session.signIn
    const begun = clock.elapsed()
    if (!(await turns.take(domainKey))) return 'not_asked'
    try {
      if (closed || clock.elapsed() - begun > LONGEST_WAIT_MS) return 'not_asked'
      const { signIn, end } = await prepare(session)
      const state = await introspection.stateNow(signIn, ask)
      if (state !== 'ended') return state
      if (closed) return 'not_asked'
      return (await end()) === false ? 'unknown' : 'ended'
    } catch (failure) {
      return { failure }
    } finally {
      turns.done(domainKey)
    }
  }

  async function review(
    sessions: readonly OpenSession[],
    ask: AskAboutToken,
    prepare = async (session: OpenSession) => session,
  ): Promise<Reviewed> {
    const outcomes = await Promise.all(sessions.map((session) => reviewOne(session, ask, prepare)))
    const which = (wanted: Outcome) => sessions.filter((_, at) => outcomes[at] === wanted)
    const failure = outcomes.find((outcome) => typeof outcome === 'object')
    return {
      ended: which('ended').length,
      active: which('active'),
      notAsked: which('not_asked'),
      failed: sessions.filter((_, at) => typeof outcomes[at] === 'object'),
      failure: failure?.failure,
    }
  }

  /** False: too many sessions of the domain pause already, or it was closed meanwhile. */
  function pause(ms: number, domainKey: string, sessions: number): Promise<boolean> {
    const beside = pausing.get(domainKey) ?? 0
    if (closed || beside + sessions > MOST_PAUSING) return Promise.resolve(false)
    pausing.set(domainKey, beside + sessions)
    return new Promise<boolean>((resolve) => {
      const timer = clock.after(ms, () => end(true))
      const end = (hasPassed: boolean) => {
        timer.cancel()
        pauses.delete(end)
        pausing.set(domainKey, (pausing.get(domainKey) ?? 0) - sessions)
        resolve(hasPassed)
      }
      pauses.add(end)
    })
  }

  return {
    review,
    async reviewLater(sessions, ask, onReviewed) {
      let left = sessions
      for (const ms of LATER_MS) {
        const [first] = left
        if (!first) return
        if (!(await pause(ms, first.signIn.domainKey, left.length))) {
          if (!closed) onReviewed({ ended: 0, active: [], notAsked: left, failed: [], failure: undefined })
          return
        }
        const reviewed = await review(left, ask)
        onReviewed(reviewed)
        left = reviewed.active
      }
    },
    close() {
      closed = true
      turns.close()
      for (const end of [...pauses]) end(false)
    },
  }
}
