import type { OpenSession } from '../../host/port.ts'
import type { AskAboutToken, Introspection, SessionState } from './introspection.ts'

/** Questions under way. */
const AT_ONCE = 8
/** Sessions that wait for theirs; more are not asked about. */
const MOST_WAITING = 1_000
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
  readonly notAsked: number
  /** The first of what failed; undefined: nothing did. */
  readonly failure: unknown
}

/** Asks IdPs about sessions, and ends those that they have ended. Nothing else changes any, a failure least of all. */
export interface SessionReview {
  /** Never rejects. */
  review(sessions: readonly OpenSession[], ask: AskAboutToken): Promise<Reviewed>
  /**
   * The same in the background for those that went on, three times within 36 s.
   *
   * @param onReviewed called after each look
   */
  reviewLater(sessions: readonly OpenSession[], ask: AskAboutToken, onReviewed: (reviewed: Reviewed) => void): void
  /** Nobody is asked about any more, and no answer that is still to come ends anything. */
  close(): void
}

type Outcome = SessionState | 'not_asked' | { readonly failure: unknown }

/**
 * @param now milliseconds since 1970
 * @param laterMs pauses before the later looks
 */
export function createSessionReview(
  introspection: Introspection,
  now: () => number,
  laterMs: readonly number[] = LATER_MS,
): SessionReview {
  const waiting: ((isNext: boolean) => void)[] = []
  const pauses = new Set<(isOver: boolean) => void>()
  let underWay = 0
  /** Sessions that wait for a later look. */
  let pausing = 0
  let closed = false

  function turn(): Promise<boolean> {
    if (closed || waiting.length >= MOST_WAITING) return Promise.resolve(false)
    if (underWay < AT_ONCE) {
      underWay += 1
      return Promise.resolve(true)
    }
    return new Promise((resolve) => waiting.push(resolve))
  }

  function done(): void {
    const next = waiting.shift()
    // Hands its place on.
    if (next) next(true)
    else underWay -= 1
  }

  async function look({ signIn, end }: OpenSession, ask: AskAboutToken): Promise<Outcome> {
    const begun = now()
    if (!(await turn())) return 'not_asked'
    try {
      if (closed || now() - begun > LONGEST_WAIT_MS) return 'not_asked'
      const state = await introspection.stateNow(signIn, ask)
      if (state !== 'ended') return state
      if (closed) return 'not_asked'
      return (await end()) === false ? 'unknown' : 'ended'
    } catch (failure) {
      return { failure }
    } finally {
      done()
    }
  }

  async function review(sessions: readonly OpenSession[], ask: AskAboutToken): Promise<Reviewed> {
    const outcomes = await Promise.all(sessions.map((session) => look(session, ask)))
    const which = (wanted: Outcome) => sessions.filter((_, at) => outcomes[at] === wanted)
    const failed = outcomes.find((outcome) => typeof outcome === 'object')
    return {
      ended: which('ended').length,
      active: which('active'),
      notAsked: which('not_asked').length,
      failure: failed?.failure,
    }
  }

  /** False: too many sessions pause already, or it was closed meanwhile. */
  function pause(ms: number, sessions: number): Promise<boolean> {
    if (closed || pausing + sessions > MOST_WAITING) return Promise.resolve(false)
    pausing += sessions
    return new Promise<boolean>((resolve) => {
      const timer = setTimeout(() => end(true), ms).unref()
      const end = (isOver: boolean) => {
        clearTimeout(timer)
        pauses.delete(end)
        pausing -= sessions
        resolve(isOver)
      }
      pauses.add(end)
    })
  }

  return {
    review,
    async reviewLater(sessions, ask, onReviewed) {
      let left = sessions
      for (const ms of laterMs) {
        if (left.length === 0 || !(await pause(ms, left.length))) return
        const reviewed = await review(left, ask)
        onReviewed(reviewed)
        left = reviewed.active
      }
    },
    close() {
      closed = true
      for (const next of waiting.splice(0)) next(false)
      for (const end of [...pauses]) end(false)
    },
  }
}
