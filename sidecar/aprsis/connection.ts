import type { Clock, Timer } from '../clock.ts'
import type { Log } from '../log.ts'
import type { Metrics } from '../metrics.ts'
import { backoffMs } from './backoff.ts'
import type { LoginAnswer } from './login.ts'
import { openSession, type Session } from './session.ts'

/** A login that lasted this long was no accident: the next fault starts with the shortest wait again. */
const STABLE_MS = 60_000

/**
 * - `connecting`: no answer to the login yet;
 * - `up`: logged in, and the server has the newest filter;
 * - `confirming`: logged in, a filter change is not confirmed yet;
 * - `unconfirmed`: the server did not confirm it: only another login brings certainty;
 * - `waiting`: until the next try;
 * - `leaving`: reading what is still on its way, then `closed`.
 */
export type ConnectionState = 'connecting' | 'up' | 'confirming' | 'unconfirmed' | 'waiting' | 'leaving' | 'closed'

export interface ConnectionStatus {
  readonly call: string
  readonly state: ConnectionState
  readonly verified: boolean
  /** The server's call; null while not logged in. */
  readonly server: string | null
  /** Wall-clock time of the last change of `state`, in milliseconds since 1970. */
  readonly sinceMs: number
  readonly filter: string
  /** Over all logins of this connection. */
  readonly bytesIn: number
  readonly bytesOut: number
}

export interface ConnectionOptions {
  readonly host: string
  readonly port: number
  readonly call: string
  /** -1 logs in unverified. */
  readonly passcode: number
  readonly filter: string
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** From 0 to below 1. */
  random(): number
  onLines(lines: readonly Buffer[]): void
  /** The status changed. */
  onChange(): void
}

/** Keeps one login to APRS-IS up, whatever happens to it, until it is told to leave. */
export interface Connection {
  readonly call: string
  status(): ConnectionStatus
  /** Another filter, at most {@link IN_PLACE_BYTES} long. */
  setFilter(filter: string): void
  /** False when the login is not up and verified, or the line is not fit to be sent. */
  send(line: string): boolean
  pause(): void
  resume(): void
  /** For good, but not before everything that the server sent is read (5 s at most). */
  leave(): void
  /** For good, at once. Resolves when the socket is closed. */
  close(): Promise<void>
}

export function openConnection(options: ConnectionOptions): Connection {
  const { call, clock, log, metrics } = options
  let { filter } = options
  let state: ConnectionState = 'connecting'
  let sinceMs = clock.now()
  let login: LoginAnswer | undefined
  let session: Session | undefined
  let timer: Timer | undefined
  let failures = 0
  let paused = false
  // Of the sessions that ended.
  let bytesIn = 0
  let bytesOut = 0
  let closed: () => void = () => {}
  const whenClosed = new Promise<void>((resolve) => {
    closed = resolve
  })

  function enter(next: ConnectionState): void {
    state = next
    sinceMs = clock.now()
  }

  function connect(): void {
    enter('connecting')
    session = openSession({ ...options, filter, onLogin, onFilter, onEnd })
    if (paused) session.pause()
  }

  function onLogin(answer: LoginAnswer): void {
    login = answer
    metrics.count('upstream_connects')
    log.info('upstream-login', 'Logged in to an APRS-IS server.', { call, ...answer, filterBytes: filter.length })
    if (!answer.verified && options.passcode !== -1) {
      log.error(
        'upstream-unverified',
        'The APRS-IS server does not accept aprsis.passcode for aprsis.callsign: messages arrive, acks cannot be sent.',
        { call, server: answer.server },
      )
    }
    timer = clock.after(STABLE_MS, () => {
      failures = 0
    })
    enter('confirming')
  }

  function onFilter(outcome: 'confirmed' | 'unconfirmed'): void {
    enter(outcome === 'confirmed' ? 'up' : 'unconfirmed')
    if (outcome === 'unconfirmed') {
      log.warn('upstream-filter-unconfirmed', 'The APRS-IS server did not confirm a filter, sent twice.', { call })
    }
    options.onChange()
  }

  function onEnd(reason: string): void {
    const wasLoggedIn = login !== undefined
    bytesIn += session?.bytesIn ?? 0
    bytesOut += session?.bytesOut ?? 0
    session = undefined
    login = undefined
    timer?.cancel()
    if (state === 'leaving' || state === 'closed') {
      enter('closed')
      closed()
    } else {
      if (wasLoggedIn) metrics.count('upstream_disconnects')
      retry(reason, wasLoggedIn)
    }
    options.onChange()
  }

  function retry(reason: string, wasLoggedIn: boolean): void {
    failures += 1
    enter('waiting')
    const retryInMs = backoffMs(failures, options.random())
    timer = clock.after(retryInMs, () => {
      connect()
      options.onChange()
    })
    // An outage of hours is told once, not at each try.
    const tell = wasLoggedIn || failures === 1 ? log.warn : log.debug
    tell('upstream-down', 'The connection to APRS-IS failed.', { call, reason, retryInMs, failures })
  }

  function close(): Promise<void> {
    if (state === 'closed') return whenClosed
    enter('closed')
    timer?.cancel()
    if (session) session.end()
    else closed()
    return whenClosed
  }

  connect()
  return {
    call,
    status: () => ({
      call,
      state,
      verified: login?.verified ?? false,
      server: login?.server ?? null,
      sinceMs,
      filter,
      bytesIn: bytesIn + (session?.bytesIn ?? 0),
      bytesOut: bytesOut + (session?.bytesOut ?? 0),
    }),
    setFilter(next) {
      if (filter === next) return
      filter = next
      session?.setFilter(next)
      if (state === 'up') enter('confirming')
    },
    send: (line) => session?.send(line) ?? false,
    pause() {
      paused = true
      session?.pause()
    },
    resume() {
      paused = false
      session?.resume()
    },
    leave() {
      if (state === 'leaving' || state === 'closed') return
      if (!session || !login) {
        void close()
        return
      }
      enter('leaving')
      timer?.cancel()
      session.leave()
    },
    close,
  }
}
