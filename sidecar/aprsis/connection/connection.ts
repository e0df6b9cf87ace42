import type { Clock, Timer } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { Metrics } from '../../metrics.ts'
import type { LoginAnswer } from '../protocol/login.ts'
import { afterDropMs, backoffMs } from './backoff.ts'
import type { Connect } from './connect-tcp.ts'
import type { FilterOutcome } from './filter-exchange.ts'
import { FLAPPING_DROPS, LIKELY_CAUSE_OF_FLAPPING, RecentDrops } from './recent-drops.ts'
import { openSession, type Session } from './session.ts'

/** A login that lasted this long was no accident: the next fault is the first one again. */
const STABLE_MS = 60_000

/**
 * How often a connection may log in anew because a listener elsewhere is on its server: there may be no other server.
 */
const MAX_MOVES = 3

/** When to look again whether the call of a connection is certainly ours. */
const CERTAIN_AGAIN_MS = 1000

/**
 * - `connecting`: no answer to the login yet;
 * - `up`: logged in, and the server has the newest filter;
 * - `confirming`: logged in, a filter change is not confirmed yet;
 * - `unconfirmed`: logged in, and the server answers no `#filter`: the newest filter counts as set, and only another
 *   login makes it certain;
 * - `waiting`: until the next try;
 * - `leaving`: reading what is still on its way, then `closed`.
 */
export type ConnectionState = 'connecting' | 'up' | 'confirming' | 'unconfirmed' | 'waiting' | 'leaving' | 'closed'

export interface ConnectionStatus {
  readonly callsign: string
  readonly state: ConnectionState
  readonly verified: boolean
  /** The server's call; null while not logged in. */
  readonly server: string | null
  /** Wall-clock time of the last change of `state`, in milliseconds since 1970. */
  readonly sinceMs: number
  readonly filter: string
  /** Logins that a server took and ended within the last 15 minutes, up to 20. */
  readonly recentDrops: number
  /** Over all logins of this connection. */
  readonly bytesIn: number
  readonly bytesOut: number
}

export interface ConnectionOptions {
  readonly connect?: Connect | undefined
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
  /** Whether the call is certainly ours; no login is begun while it is not. */
  mayLogIn(): boolean
  /** Whether a login to another server would be better than one to this. */
  avoids(server: string): boolean
  /** Whether this server is known to answer no `#filter`. */
  isSilent(server: string): boolean
  /** The server took a filter, or did not answer; not called for the filter of the login. */
  onFilterAnswer(server: string, outcome: 'confirmed' | 'unanswered'): void
  /** Whether another connection takes over its call: then the server ends this one. */
  hasSuccessor(): boolean
  onLines(lines: readonly string[]): void
  /** The status changed. */
  onChange(): void
}

/** Keeps one login to APRS-IS up, whatever happens to it, until it is told to leave. */
export interface Connection {
  readonly call: string
  /** The server's call; undefined while not logged in. */
  readonly server: string | undefined
  readonly verified: boolean
  status(): ConnectionStatus
  /** Logs in anew where it is on one of these servers, unless that was tried often enough. */
  moveFrom(servers: ReadonlySet<string>): void
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
  /** In a row: tries that came to no login that we could want, and logins that were ended before they lasted. */
  let failures = 0
  let drops = 0
  let moves = 0
  let moving = false
  let paused = false
  // Of the sessions that ended.
  let bytesIn = 0
  let bytesOut = 0
  const recentDrops = new RecentDrops()
  let flapping = false
  let closed: () => void = () => {}
  const whenClosed = new Promise<void>((resolve) => {
    closed = resolve
  })

  function enter(next: ConnectionState): void {
    state = next
    sinceMs = clock.now()
  }

  function connect(): void {
    if (!options.mayLogIn()) {
      connectIn(CERTAIN_AGAIN_MS)
      return
    }
    enter('connecting')
    session = openSession({ ...options, filter, onLogin, onFilter, onEnd })
    if (paused) session.pause()
  }

  function onLogin(answer: LoginAnswer): void {
    metrics.count('upstream_connects')
    if (moves < MAX_MOVES && options.avoids(answer.server)) {
      move(answer.server)
      return
    }
    login = answer
    const tell = isTold(drops) ? log.info : log.debug
    tell('upstream-login', 'Logged in to an APRS-IS server.', { call, ...answer, filterBytes: filter.length })
    if (!answer.verified && options.passcode !== -1) {
      log.error(
        'upstream-unverified',
        'The APRS-IS server does not accept aprsis.passcode for aprsis.callsign: messages arrive, acks cannot be sent.',
        { call, server: answer.server },
      )
    }
    timer = clock.after(STABLE_MS, () => {
      failures = 0
      drops = 0
    })
    enter('confirming')
  }

  /**
   * Two listeners are to be on two servers: one that fails takes nothing along. The other one hears everything
   * meanwhile.
   */
  function move(server: string): void {
    moves += 1
    moving = true
    login = undefined
    timer?.cancel()
    // An address that has one server only leads to it each time: one move is told once.
    const tell = moves === 1 ? log.info : log.debug
    tell('upstream-moves', 'Another listener is on this APRS-IS server, too: the connection logs in anew.', {
      call,
      server,
      moves,
    })
    enter('connecting')
    session?.end()
  }

  function onFilter(outcome: FilterOutcome): void {
    if (moving || !login) return
    enter(outcome === 'unanswered' ? 'unconfirmed' : 'up')
    if (outcome !== 'set_by_login') options.onFilterAnswer(login.server, outcome)
    options.onChange()
  }

  function onEnd(reason: string): void {
    const last = login
    bytesIn += session?.bytesIn ?? 0
    bytesOut += session?.bytesOut ?? 0
    const moved = moving
    session = undefined
    login = undefined
    moving = false
    timer?.cancel()
    if (state === 'leaving' || state === 'closed') {
      enter('closed')
      closed()
    } else if (moved) connect()
    else {
      // The last login lasted: the next one may be to any server again.
      if (failures === 0 && drops === 0) moves = 0
      if (last && !options.hasSuccessor()) metrics.count('upstream_disconnects')
      // An unverified login where a verified one was wanted is one that the server may not want.
      if (last?.verified || (last && options.passcode === -1)) reconnect(reason)
      else retry(reason, last !== undefined)
    }
    options.onChange()
  }

  /** After a login that the server took. */
  function reconnect(reason: string): void {
    failures = 0
    drops += 1
    if (!options.hasSuccessor()) noteDrop(reason)
    const retryInMs = drops === 1 ? backoffMs(1, options.random()) : afterDropMs(options.random())
    connectIn(retryInMs)
    const tell = isTold(drops) && !options.hasSuccessor() ? log.warn : log.debug
    tell('upstream-down', 'The connection to APRS-IS ended.', { call, reason, retryInMs, drops })
  }

  function noteDrop(reason: string): void {
    recentDrops.add(clock.elapsed())
    const count = recentDrops.count(clock.elapsed())
    if (count >= FLAPPING_DROPS && !flapping) {
      log.warn(
        'upstream-flaps',
        `APRS-IS ended the connection ${count} times within 15 minutes. ${LIKELY_CAUSE_OF_FLAPPING}`,
        { call, reason, drops: count },
      )
    }
    flapping = count >= FLAPPING_DROPS
  }

  function retry(reason: string, wasLoggedIn: boolean): void {
    failures += 1
    const retryInMs = backoffMs(failures, options.random())
    connectIn(retryInMs)
    // An outage of hours is told once, not at each try; by the drop that it began with, where there was one.
    const begins = failures === 1 && (drops === 0 || !isTold(drops))
    const tell = wasLoggedIn || begins ? log.warn : log.debug
    tell('upstream-down', 'The connection to APRS-IS failed.', { call, reason, retryInMs, failures })
  }

  function connectIn(delayMs: number): void {
    enter('waiting')
    timer = clock.after(delayMs, () => {
      connect()
      options.onChange()
    })
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
    get server() {
      return login?.server
    },
    get verified() {
      return login?.verified ?? false
    },
    status: () => ({
      callsign: call,
      state,
      verified: login?.verified ?? false,
      server: login?.server ?? null,
      sinceMs,
      filter,
      recentDrops: recentDrops.count(clock.elapsed()),
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
    moveFrom(servers) {
      if (state === 'leaving' || state === 'closed' || moves >= MAX_MOVES || !login || !servers.has(login.server))
        return
      move(login.server)
      options.onChange()
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

/** Of what happens every few seconds for hours, the first, second, fourth, eighth time and so on. */
function isTold(times: number): boolean {
  return times === 0 || Number.isInteger(Math.log2(times))
}
