import type { Clock, Timer } from '../clock.ts'
import { LoginError } from '../errors.ts'
import { logFailure } from '../host/auth-log.ts'
import type { Host, OpenSession } from '../host/port.ts'
import { gotNoAnswer } from '../provider/faults/unanswered.ts'
import type { AskedDomain } from './introspection.ts'
import { type Answer, askAbout, type CheckDeps } from './session-check.ts'

/** Questions under way for one domain: an IdP that hangs holds up its own alone. */
const AT_ONCE = 8
/** Questions of one domain that wait for their turn, and sessions that it remembers a lost answer of. What is beyond is asked in its next turn. */
const MOST_WAITING = 1_000
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
/** When the others of a session that has ended are asked about again: Keycloak calls some active until its logout token was answered. */
const AGAIN_MS = [1_000, 30_000]

export interface ChecksOptions {
  readonly host: Host
  readonly clock: Clock
  /** How often sessions in use are asked about. 0: never. */
  readonly everyMs: number
}

/** Asks the IdPs whether sessions still live. Nothing but an IdP's word ends one, a failure least of all. */
export interface SessionChecks {
  /** Asks about those now, after a second, and after half a minute. Settles once the first answers are there; never rejects. */
  askAbout(domainKey: string, sessions: readonly OpenSession[]): Promise<void>
  /** Nobody is asked about any more. */
  close(): void
}

/** Those that are in use are asked about over and over, where the host keeps track of them. */
export function createSessionChecks(domains: readonly AskedDomain[], options: ChecksOptions): SessionChecks {
  const checks = new Map(
    domains.flatMap(({ domainKey, working }) =>
      working ? [[domainKey, checksOf(domainKey, working.client, options)]] : [],
    ),
  )
  return {
    askAbout: async (domainKey, sessions) => checks.get(domainKey)?.askAbout(sessions),
    close() {
      for (const { close } of checks.values()) close()
    },
  }
}

function checksOf(domainKey: string, client: CheckDeps['client'], { host, clock, everyMs }: ChecksOptions) {
  const { sessions } = host
  const deps = { client, lease: sessions.lease?.bind(sessions), now: () => clock.now() }
  /** Sessions that are asked about, or wait for it. */
  const asking = new Set<string>()
  const waiting: (() => void)[] = []
  let underWay = 0
  /** Sessions to whose last renewal no answer came. */
  const unanswered = new Set<string>()
  let closed = false
  /** The last question failed. */
  let isFailing = false
  /** Both of elapsed time. */
  let pausedUntil = 0
  let toldAt = Number.NEGATIVE_INFINITY

  let looking = everyMs > 0 && sessions.inUse ? lookLater() : undefined

  function lookLater(): Timer {
    return clock.after(Math.min(everyMs, LOOK_MS), async () => {
      if (!isPaused()) await look()
      if (!closed) looking = lookLater()
    })
  }

  async function look(): Promise<void> {
    const asked = new Set<Promise<void>>()
    for (const session of sessions.inUse?.(domainKey, everyMs) ?? []) {
      // What another process renewed counts for a while, but this one's own is due again.
      const one: Promise<void> = ask(session, everyMs / 2).finally(() => asked.delete(one))
      asked.add(one)
      // After an outage a single one is tried first.
      if (isFailing || asked.size === AT_ONCE) await Promise.race(asked)
      if (isPaused()) return
    }
  }

  function isPaused(): boolean {
    return closed || clock.elapsed() < pausedUntil
  }

  /** One at a time of each session. Never rejects. */
  async function ask(session: OpenSession, freshMs: number): Promise<void> {
    const { id } = session
    if (asking.has(id) || waiting.length >= MOST_WAITING) return
    asking.add(id)
    if (underWay >= AT_ONCE) await new Promise<void>((resolve) => waiting.push(resolve))
    else underWay += 1
    try {
      if (!closed) noteAnswer(session, await askAbout(session, { ...deps, freshMs }))
    } catch (failure) {
      if (gotNoAnswer(failure) && unanswered.size < MOST_WAITING) unanswered.add(id)
      noteFailure(failure)
    }
    asking.delete(id)
    // The turn goes on to who waits, or ends.
    const next = waiting.shift()
    if (next) next()
    else underWay -= 1
  }

  function noteAnswer({ id, signIn }: OpenSession, answer: Answer): void {
    if (answer.kind === 'unknown') return
    isFailing = false
    pausedUntil = 0
    const wasUnanswered = unanswered.delete(id)
    if (answer.kind !== 'ended') return
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

  /** One line an outage, and in no case more often than sessions are asked about. */
  function noteFailure(error: unknown): void {
    const now = clock.elapsed()
    const isOfAll = !(error instanceof LoginError && OF_ONE_SESSION.has(error.details.error))
    if (isOfAll) pausedUntil = now + Math.min(everyMs, PAUSE_MS)
    if (!closed && !isFailing && now - toldAt >= everyMs) {
      toldAt = now
      const failure = error instanceof LoginError ? error : new LoginError('host_failed', { cause: error })
      logFailure(host, null, domainKey, 'session-check-failed', failure)
    }
    isFailing ||= isOfAll
  }

  return {
    async askAbout(those: readonly OpenSession[]): Promise<void> {
      const askThose = () => Promise.all(those.map((session) => ask(session, 0)))
      await askThose()
      if (those.length > 0 && !closed) for (const ms of AGAIN_MS) clock.after(ms, askThose)
    },
    close(): void {
      closed = true
      looking?.cancel()
    },
  }
}

const LOST =
  ' The answer to the question before was lost, and an IdP that gives each refresh token once then ends the session: the person has to sign in again.'
/** Why, as far as that is known. */
const TOLD = ['error', 'errorDescription', 'reason']
