import { type Clock, isLate, type Timer } from '../clock.ts'
import { LoginError } from '../errors.ts'
import { logFailure } from '../host/auth-log.ts'
import type { Host, OpenSession } from '../host/port.ts'
import { gotNoAnswer, isLostAnswer } from '../provider/faults/unanswered.ts'
import { type Answer, askAbout, type CheckDeps } from './session-check.ts'
import { UncheckedSessions } from './unchecked-sessions.ts'

/** Questions under way for one domain: an IdP that hangs holds up its own alone. */
const AT_ONCE = 8
/** Sessions of one domain that a lost answer, or a refusal, is remembered of. */
const MOST_REMEMBERED = 1_000
/** Who comes back after a longer pause is asked about within that, and does not first begin to work. */
const LOOK_MS = 10_000
/** An IdP that failed is left alone for that, or until its sessions are due again. */
const PAUSE_MS = 60_000
/** What IdPs say of one session and not of themselves: Entra ID of a second factor that is due, others of an account that is gone. */
const OF_ONE_SESSION = new Set<unknown>([
  'interaction_required',
  'login_required',
  'consent_required',
  'invalid_request',
])
/** Longer than a renewal takes at most: it has 8 s for its answer, which then is written. */
const CLOSE_MS = 12_000
/** When the others of a session that has ended are asked about again: Keycloak calls some active until its logout token was answered. */
const AGAIN_MS = [1_000, 30_000]

export interface ChecksOptions {
  readonly host: Host
  /** Whose client is made when it is first asked for. */
  readonly provider: Pick<CheckDeps, 'client'>
  readonly clock: Clock
  /** How often sessions in use are asked about, where the host keeps track of them. 0: never. */
  readonly everyMs: number
  /** Has the groups of a renewed ID token count. Absent: they do not. */
  readonly followGroups?: CheckDeps['followGroups']
}

/** Asks the IdP of a domain whether sessions still live. Nothing but its word ends one, a failure least of all. */
export interface SessionChecks {
  /** Asks about those now, after a second, and after half a minute. Settles once the first answers are there; never rejects. */
  askAbout(sessions: readonly OpenSession[]): Promise<void>
  /** Returns the number of sessions in use that the IdP can never be asked about. */
  unchecked(): number
  /**
   * Begins no further question, and waits for the renewals under way. At an IdP that gives each refresh token once, a renewal whose answer nobody
   * writes ends the session. Never rejects, and takes 12 s at most.
   */
  close(): Promise<void>
}

export function createSessionChecks(domainKey: string, options: ChecksOptions): SessionChecks {
  const { host, provider, clock, everyMs } = options
  const { sessions } = host
  const deps = {
    lease: sessions.lease?.bind(sessions),
    now: () => clock.now(),
    isClosing: () => closed,
    untilClosed,
    followGroups: options.followGroups ?? (async () => true),
  }
  /** Settle with the renewals under way, and never reject. Other questions cost nothing if they are cut off. */
  const renewals = new Set<Promise<unknown>>()
  const uncheckedSessions = new UncheckedSessions(domainKey, host, clock, everyMs)
  const again = new Set<Timer>()
  /** By session. */
  const underWay = new Map<string, Promise<void>>()
  /** Sessions to whose last renewal no answer came. */
  const unanswered = new Set<string>()
  /** Sessions that the IdP would not renew at the last question, for a reason of their own. */
  const refused = new Set<string>()
  let closed = false
  /** The last question failed. */
  let isFailing = false
  /** Of this outage, an answer that was lost was logged. */
  let isLossTold = false
  /** Both of elapsed time. */
  let pausedUntil = 0
  let toldAt = Number.NEGATIVE_INFINITY

  let looking = everyMs > 0 && sessions.inUse ? lookLater() : undefined

  function lookLater(): Timer {
    return clock.after(Math.min(everyMs, LOOK_MS), async () => {
      // What another process renewed counts for a while, but this one's own is due again.
      await askAll(sessions.inUse?.(domainKey, everyMs) ?? [], everyMs / 2)
      if (!closed) looking = lookLater()
    })
  }

  function untilClosed<Outcome>(renewal: Promise<Outcome>): Promise<Outcome> {
    const settled = renewal.catch(() => undefined).finally(() => renewals.delete(settled))
    renewals.add(settled)
    return renewal
  }

  function askLater(ms: number, task: () => unknown): void {
    const timer = clock.after(ms, () => {
      again.delete(timer)
      return task()
    })
    again.add(timer)
  }

  /** One question at a time of each session. Never rejects. @returns all, once there was room for the last */
  async function askAll(those: Iterable<OpenSession>, freshMs: number): Promise<readonly Promise<void>[]> {
    const asked: Promise<void>[] = []
    for (const session of those) {
      // After an outage a single one is tried first.
      while (underWay.size >= (isFailing ? 1 : AT_ONCE)) await Promise.race(underWay.values())
      if (closed || clock.elapsed() < pausedUntil) break
      const { id } = session
      if (underWay.has(id)) continue
      const question = ask(session, freshMs).finally(() => underWay.delete(id))
      underWay.set(id, question)
      asked.push(question)
    }
    return asked
  }

  async function ask(session: OpenSession, freshMs: number): Promise<void> {
    try {
      noteAnswer(session, await askAbout(session, { ...deps, client: provider.client, freshMs }))
    } catch (failure) {
      if (gotNoAnswer(failure) && unanswered.size < MOST_REMEMBERED) unanswered.add(session.id)
      noteFailure(session, failure)
    }
  }

  function noteAnswer({ id, signIn }: OpenSession, answer: Answer): void {
    if (answer === 'unknown') return
    if (answer === 'unchecked') {
      uncheckedSessions.note(id)
      return
    }
    uncheckedSessions.forget(id)
    refused.delete(id)
    isFailing = false
    isLossTold = false
    pausedUntil = 0
    const wasUnanswered = unanswered.delete(id)
    if (answer === 'active' || answer === 'refused') return
    const { code, details = {} } = answer.reason ?? {}
    host.authLog({
      level: code === 'id_token_invalid' ? 'warn' : 'info',
      event: 'session-ended',
      message: `The IdP was asked about a session, and it is over there: it has ended here too.${wasUnanswered ? LOST : ''}`,
      domain: domainKey,
      fields: {
        user: signIn.userId,
        ...Object.fromEntries(TOLD.flatMap((name) => (name in details ? [[name, details[name]]] : []))),
      },
    })
  }

  /** Whether the IdP refused the same session before, and has not renewed it since: it may need a second factor for days. */
  function isRefusedAgain(id: string): boolean {
    const isKnown = refused.has(id)
    if (refused.size < MOST_REMEMBERED) refused.add(id)
    return isKnown
  }

  /** One line an outage, and in no case more often than sessions are asked about. */
  function noteFailure({ id }: OpenSession, error: unknown): void {
    const now = clock.elapsed()
    const isOfAll = !(error instanceof LoginError && OF_ONE_SESSION.has(error.details.error))
    if (isOfAll) pausedUntil = now + Math.min(everyMs, PAUSE_MS)
    else if (isRefusedAgain(id)) return
    // An answer that was lost may have used a refresh token up. That is told even if the outage is known already.
    const isLost = isLostAnswer(error)
    if ((!isFailing && now - toldAt >= everyMs && !closed) || (isLost && !isLossTold)) {
      toldAt = now
      isLossTold ||= isLost
      const failure = error instanceof LoginError ? error : new LoginError('host_failed', { cause: error })
      logFailure(host, null, domainKey, 'session-check-failed', failure)
    }
    isFailing ||= isOfAll
  }

  return {
    async askAbout(those) {
      const askThose = () => {
        // Who has sent a logout token is not away.
        pausedUntil = 0
        return askAll(those, 0)
      }
      await Promise.all(await askThose())
      if (those.length > 0 && !closed) for (const ms of AGAIN_MS) askLater(ms, askThose)
    },
    unchecked: () => uncheckedSessions.count(),
    async close() {
      closed = true
      looking?.cancel()
      for (const timer of again) timer.cancel()
      if (renewals.size > 0) await isLate(clock, Promise.all(renewals), CLOSE_MS)
    },
  }
}

const LOST =
  ' The answer to the question before was lost, and an IdP that gives each refresh token once then ends the session: the person has to sign in again.'
/** Why, as far as that is known. */
const TOLD = ['error', 'errorDescription', 'reason']
