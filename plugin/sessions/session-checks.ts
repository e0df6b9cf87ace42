import { type Clock, isLate, type Timer } from '../clock.ts'
import type { Host, OpenSession } from '../host/port.ts'
import { CheckOutcomes } from './check-outcomes.ts'
import { askAbout, type CheckDeps } from './session-check.ts'

/** Questions under way for one domain: an IdP that hangs holds up its own alone. */
const AT_ONCE = 8
/** Who comes back after a longer pause is asked about within that, and does not first begin to work. */
const LOOK_MS = 10_000
/** Longer than a renewal takes at most: it has 8 s for its answer, which then is written. */
const CLOSE_MS = 12_000
/**
 * When the others of a session that has ended are asked about again: Keycloak calls some active until its logout token
 * was answered.
 */
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
  /**
   * Asks about those now, after a second, and after half a minute. Settles once the first answers are there; never
   * rejects.
   */
  askAbout(sessions: readonly OpenSession[]): Promise<void>
  /** Returns the number of sessions in use that the IdP can never be asked about. */
  unchecked(): number
  /**
   * Begins no further question, and waits for the renewals under way. At an IdP that gives each refresh token once, a
   * renewal whose answer nobody writes ends the session. Never rejects, and takes 12 s at most.
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
  const outcomes = new CheckOutcomes(domainKey, { host, clock, everyMs, isClosing: () => closed })
  const again = new Set<Timer>()
  /** By session. */
  const underWay = new Map<string, Promise<void>>()
  let closed = false

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
      while (underWay.size >= (outcomes.isFailing ? 1 : AT_ONCE)) await Promise.race(underWay.values())
      if (closed || outcomes.isPaused) break
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
      outcomes.noteAnswer(session, await askAbout(session, { ...deps, client: provider.client, freshMs }))
    } catch (failure) {
      outcomes.noteFailure(session, failure)
    }
  }

  return {
    async askAbout(those) {
      const askThose = () => {
        // Who has sent a logout token is not away.
        outcomes.resume()
        return askAll(those, 0)
      }
      await Promise.all(await askThose())
      if (those.length > 0 && !closed) for (const ms of AGAIN_MS) askLater(ms, askThose)
    },
    unchecked: () => outcomes.unchecked(),
    async close() {
      closed = true
      looking?.cancel()
      for (const timer of again) timer.cancel()
      if (renewals.size > 0) await isLate(clock, Promise.all(renewals), CLOSE_MS)
    },
  }
}
