import type { Clock, Timer } from '../../clock.ts'
import type { Log } from '../../log.ts'
import type { Metrics } from '../../metrics.ts'
import type { LoginAnswer } from '../protocol/login.ts'
import type { Connect } from './connect-tcp.ts'
import type { FilterOutcome } from './filter-exchange.ts'
import type { LineIntake } from './line-intake.ts'
import { Outages } from './outages.ts'
import { Session } from './session.ts'

/** A login that lasts this long is stable: the next fault is treated as the first one. */
const STABLE_MS = 60_000

/** Limit of moves: new logins to reach a server that no other listener uses. With only one server, none can. */
const MAX_MOVES = 3

/** Delay before the connection checks again whether it may use its callsign. */
const MAY_LOG_IN_AGAIN_MS = 1000

/**
 * The state of a connection:
 * - `connecting`: the login is not answered yet.
 * - `up`: logged in, and the server has the newest filter.
 * - `confirming`: logged in, and a filter change is not confirmed yet.
 * - `unconfirmed`: logged in, but the server does not answer `#filter` lines. It probably has the newest filter.
 * - `waiting`: not connected; the next try follows after a delay.
 * - `leaving`: reads the server's last data, then is `closed`.
 */
export type ConnectionState = 'connecting' | 'up' | 'confirming' | 'unconfirmed' | 'waiting' | 'leaving' | 'closed'

export interface ConnectionStatus {
  readonly callsign: string
  readonly state: ConnectionState
  readonly verified: boolean
  /** The server's name; null while not logged in. */
  readonly server: string | null
  /** Wall-clock time of the last change of `state`, in milliseconds since 1970. */
  readonly sinceMs: number
  readonly filter: string
  /** Number of logins, within the last 15 minutes, that a server accepted and then ended; at most 20. */
  readonly recentDrops: number
  /** Bytes received in all sessions of this connection. */
  readonly bytesIn: number
  readonly bytesOut: number
}

/** The settings and callbacks of a connection. The fleet provides them. */
export interface ConnectionParts {
  readonly connect: Connect
  readonly host: string
  readonly port: number
  /** The callsign to log in with. */
  readonly callsign: string
  /** The passcode; -1 logs in unverified. */
  readonly passcode: number
  /** The first filter; {@link Connection.setFilter} changes it. */
  readonly filter: string
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly lines: Pick<LineIntake, 'take'>
  /** Returns a random number from 0 to below 1. */
  readonly random: () => number
  /** Whether a login with the callsign may begin now. False while another process could use the callsign too. */
  readonly mayLogIn: () => boolean
  /** Whether the connection should try to log in to another server, because another listener uses this one. */
  readonly avoids: (server: string) => boolean
  /** Whether this server is known to leave `#filter` lines unanswered. */
  readonly isSilent: (server: string) => boolean
  /**
   * Called when the server has confirmed a `#filter` line, or has not answered it in time. Not called for the filter in
   * the login line.
   */
  readonly onFilterAnswer: (server: string, outcome: 'confirmed' | 'unanswered') => void
  /**
   * Whether a newer connection logs in with the same callsign. The server then ends this connection, which is no fault.
   */
  readonly hasSuccessor: () => boolean
  /** Called after each change of {@link Connection.status}. */
  readonly onChange: () => void
}

/**
 * Keeps one login to APRS-IS up, and reconnects after faults, until {@link leave} or {@link close}.
 *
 * It runs one {@link Session} at a time:
 * - A new session is `connecting`. After the login it is `confirming`. The server's answer to the filter makes it `up`
 *   or `unconfirmed`.
 * - After a session ends, the connection is `waiting`, for a delay from {@link Outages}, before the next session.
 * - If another listener uses the same server, the connection *moves*: it ends its session and starts the next one at
 *   once. It moves at most three times until a login is stable.
 */
export class Connection {
  readonly #parts: ConnectionParts
  readonly #outages: Outages
  readonly #whenClosed: Promise<void>
  #resolveClosed: () => void = () => {}
  #filter: string
  #state: ConnectionState = 'connecting'
  #sinceMs: number
  #session: Session | undefined
  #login: LoginAnswer | undefined
  /** In the state `waiting`, this timer starts the next try. While logged in, it marks the login as stable. */
  #timer: Timer | undefined
  #moves = 0
  #moving = false
  #paused = false
  /** Bytes received in earlier sessions. */
  #bytesIn = 0
  #bytesOut = 0

  constructor(parts: ConnectionParts) {
    const { callsign, clock, log, random, filter } = parts
    this.#parts = parts
    this.#outages = new Outages({ callsign, clock, log, random })
    this.#filter = filter
    this.#sinceMs = clock.now()
    this.#whenClosed = new Promise((resolve) => {
      this.#resolveClosed = resolve
    })
  }

  /** Starts the first session. Call once. */
  open(): void {
    this.#connect()
  }

  get callsign(): string {
    return this.#parts.callsign
  }

  get state(): ConnectionState {
    return this.#state
  }

  /** The server's name; undefined while not logged in. */
  get server(): string | undefined {
    return this.#login?.server
  }

  get verified(): boolean {
    return this.#login?.verified ?? false
  }

  status(): ConnectionStatus {
    return {
      callsign: this.callsign,
      state: this.#state,
      verified: this.verified,
      server: this.server ?? null,
      sinceMs: this.#sinceMs,
      filter: this.#filter,
      recentDrops: this.#outages.recentDrops,
      bytesIn: this.#bytesIn + (this.#session?.bytesIn ?? 0),
      bytesOut: this.#bytesOut + (this.#session?.bytesOut ?? 0),
    }
  }

  /** Changes the filter. The new filter has at most {@link IN_PLACE_BYTES} bytes. */
  setFilter(filter: string): void {
    if (this.#filter === filter) return
    this.#filter = filter
    this.#session?.setFilter(filter)
    if (this.#state === 'up') this.#enter('confirming')
  }

  /** Sends a packet line. Returns false if the login is not verified, or the line cannot be sent as a packet. */
  send(line: string): boolean {
    return this.#session?.send(line) ?? false
  }

  pause(): void {
    this.#paused = true
    this.#session?.pause()
  }

  resume(): void {
    this.#paused = false
    this.#session?.resume()
  }

  /** If logged in to one of these servers, logs in again to reach another one, up to {@link MAX_MOVES} times. */
  moveFrom(servers: ReadonlySet<string>): void {
    if (this.#isLeaving() || this.#moves >= MAX_MOVES || !this.#login || !servers.has(this.#login.server)) return
    this.#move(this.#login.server)
    this.#parts.onChange()
  }

  /** Ends the connection permanently, after reading everything that the server has sent (5 s at most). */
  leave(): void {
    if (this.#isLeaving()) return
    if (!this.#session || !this.#login) {
      void this.close()
      return
    }
    this.#enter('leaving')
    this.#timer?.cancel()
    this.#session.leave()
  }

  /** Ends the connection permanently and at once. Resolves when the socket is closed. */
  close(): Promise<void> {
    if (this.#state === 'closed') return this.#whenClosed
    this.#enter('closed')
    this.#timer?.cancel()
    if (this.#session) this.#session.end()
    else this.#resolveClosed()
    return this.#whenClosed
  }

  #isLeaving(): boolean {
    return this.#state === 'leaving' || this.#state === 'closed'
  }

  #enter(state: ConnectionState): void {
    this.#state = state
    this.#sinceMs = this.#parts.clock.now()
  }

  #connect(): void {
    const { connect, host, port, callsign, passcode, clock, metrics, lines, mayLogIn, isSilent } = this.#parts
    if (!mayLogIn()) {
      this.#connectIn(MAY_LOG_IN_AGAIN_MS)
      return
    }
    this.#enter('connecting')
    this.#session = new Session({
      connect,
      host,
      port,
      callsign,
      passcode,
      filter: this.#filter,
      clock,
      metrics,
      lines,
      mayLogIn,
      isSilent,
      onLogin: (answer) => this.#onLogin(answer),
      onFilter: (outcome) => this.#onFilter(outcome),
      onEnd: (reason) => this.#onEnd(reason),
    })
    if (this.#paused) this.#session.pause()
  }

  #connectIn(delayMs: number): void {
    this.#enter('waiting')
    this.#timer = this.#parts.clock.after(delayMs, () => {
      this.#connect()
      this.#parts.onChange()
    })
  }

  #onLogin(answer: LoginAnswer): void {
    const { callsign, passcode, avoids, clock, log, metrics } = this.#parts
    metrics.count('upstream_connects')
    if (this.#moves < MAX_MOVES && avoids(answer.server)) {
      this.#move(answer.server)
      return
    }
    this.#login = answer
    const { verified, server } = answer
    const report = this.#outages.isLoginNotable ? log.info : log.debug
    report('upstream-login', 'Logged in to an APRS-IS server.', {
      call: callsign,
      verified,
      server,
      filterBytes: this.#filter.length,
    })
    if (!verified && passcode !== -1) {
      log.error(
        'upstream-unverified',
        'The APRS-IS server rejected the passcode: messages are received, but acks cannot be sent. Set aprsis.passcode to the passcode of aprsis.callsign.',
        { call: callsign, server },
      )
    }
    this.#timer = clock.after(STABLE_MS, () => this.#outages.recovered())
    this.#enter('confirming')
  }

  /**
   * Leaves a server that another listener uses, so that no failing server disconnects both. The other one gets all
   * messages meanwhile.
   */
  #move(server: string): void {
    const { callsign, log } = this.#parts
    this.#moves += 1
    this.#moving = true
    this.#login = undefined
    this.#timer?.cancel()
    // If only one server has this address, each new login reaches the same server again. So only the first attempt to
    // reach another server is logged at level info.
    const report = this.#moves === 1 ? log.info : log.debug
    report(
      'upstream-moves',
      'Another listener uses the same APRS-IS server; the connection logs in again, to reach another server.',
      { call: callsign, server, moves: this.#moves },
    )
    this.#enter('connecting')
    this.#session?.end()
  }

  #onFilter(outcome: FilterOutcome): void {
    if (this.#moving || !this.#login) return
    this.#enter(outcome === 'unanswered' ? 'unconfirmed' : 'up')
    if (outcome !== 'set_by_login') this.#parts.onFilterAnswer(this.#login.server, outcome)
    this.#parts.onChange()
  }

  #onEnd(reason: string): void {
    const login = this.#login
    const moving = this.#moving
    this.#bytesIn += this.#session?.bytesIn ?? 0
    this.#bytesOut += this.#session?.bytesOut ?? 0
    this.#session = undefined
    this.#login = undefined
    this.#moving = false
    this.#timer?.cancel()
    if (this.#isLeaving()) {
      this.#enter('closed')
      this.#resolveClosed()
    } else if (moving) this.#connect()
    else this.#tryAgain(login, reason)
    this.#parts.onChange()
  }

  #tryAgain(login: LoginAnswer | undefined, reason: string): void {
    const { passcode, hasSuccessor, metrics } = this.#parts
    // After a stable login, the connection may again try up to three times to reach another server.
    if (this.#outages.isStable) this.#moves = 0
    const isReplaced = hasSuccessor()
    if (login && !isReplaced) metrics.count('upstream_disconnects')
    // A server that rejects the passcode may reject every login. So a login that stays unverified is handled as a
    // failure.
    const wasWelcome = login !== undefined && (login.verified || passcode === -1)
    this.#connectIn(
      wasWelcome ? this.#outages.dropped(reason, isReplaced) : this.#outages.failed(reason, login !== undefined),
    )
  }
}
