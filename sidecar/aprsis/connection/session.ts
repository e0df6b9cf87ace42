import type { Duplex } from 'node:stream'
import type { Clock, Timer } from '../../clock.ts'
import type { Metrics } from '../../metrics.ts'
import { lineSplitter, MAX_LINE_BYTES } from '../protocol/lines.ts'
import { KEEP_ALIVE_LINE, type LoginAnswer, loginLine, parseLoginAnswer } from '../protocol/login.ts'
import type { Connect } from './connect-tcp.ts'
import { FilterExchange, type FilterOutcome } from './filter-exchange.ts'
import type { LineIntake } from './line-intake.ts'
import { SilenceWatch } from './silence-watch.ts'

const CONNECT_TIMEOUT_MS = 10_000
const LOGIN_TIMEOUT_MS = 10_000
const LEAVE_TIMEOUT_MS = 5000
const FLUSH_TIMEOUT_MS = 1000

/** Maximum length of a packet line in bytes, without its line end. Servers drop longer lines. */
const MAX_PACKET_LINE_BYTES = 509

/** Limit of unsent output in bytes: more than a thousand acks. Above it, {@link Session.send} refuses lines. */
const MAX_UNSENT_BYTES = 65_536

/**
 * Lines in one read after which other work gets a turn. A hostile server could send a million lines in a read of 2 MB,
 * and delay API requests for seconds. APRS-IS sends a few hundred a second.
 */
const MANY_LINES = 1000

const HASH = 35

/** The settings and callbacks of a session. Its connection provides them. */
export interface SessionParts {
  readonly connect: Connect
  readonly host: string
  readonly port: number
  /** The callsign to log in with. */
  readonly callsign: string
  /** The passcode; -1 logs in unverified. */
  readonly passcode: number
  /** The filter of the login line. */
  readonly filter: string
  readonly clock: Clock
  readonly metrics: Metrics
  /** Receives the packet lines, all lines of one read together. */
  readonly lines: Pick<LineIntake, 'take'>
  /** Called right before the login line is sent. If it returns false, the session ends. */
  readonly mayLogIn: () => boolean
  /** Whether this server is known to leave `#filter` lines unanswered. */
  readonly isSilent: (server: string) => boolean
  readonly onLogin: (answer: LoginAnswer) => void
  readonly onFilter: (outcome: FilterOutcome) => void
  /** Called once, last, when the socket is destroyed and no timer is left. `reason` is for the log. */
  readonly onEnd: (reason: string) => void
}

/**
 * One TCP connection to an APRS-IS server, from the connection attempt to its end.
 *
 * - It must connect within 10 s. Then it sends the login line, if `mayLogIn` allows it, and waits 10 s for the answer.
 * - Once logged in, it can change its filter. A verified login can also send packets.
 * - {@link leave} ends the sending side, and reads until the server closes, for at most 5 s (unlimited while reading is
 *   paused).
 * - {@link end} waits at most 1 s until the kernel has all output, then closes.
 * - A socket error, a timeout or a silent server ends the session at any time.
 *
 * Packet lines go to the intake even before the login is answered.
 */
export class Session {
  readonly #parts: SessionParts
  readonly #socket: Duplex
  readonly #split: (chunk: Buffer) => string[]
  readonly #filters: FilterExchange
  readonly #silence: SilenceWatch
  #deadline: Timer
  #login: LoginAnswer | undefined
  #paused = false
  #phase: 'open' | 'leaving' | 'ended' = 'open'
  /** The server's last comment line. It may name the reason why the server refuses a login. */
  #lastComment = ''
  #bytesIn = 0
  #bytesOut = 0

  /** Starts to connect. No callback is called before the constructor returns. */
  constructor(parts: SessionParts) {
    const { connect, host, port, filter, clock, metrics, isSilent, onFilter } = parts
    this.#parts = parts
    this.#socket = connect({ host, port })
    this.#split = lineSplitter(MAX_LINE_BYTES, () => metrics.count('lines_too_long'))
    this.#deadline = clock.after(CONNECT_TIMEOUT_MS, () => this.#finish('no connection within 10 s'))
    this.#silence = new SilenceWatch({
      clock,
      isPaused: () => this.#paused,
      onSilent: () => this.#finish('the server was silent for a minute'),
      keepAlive: () => {
        if (this.#login) this.#write(KEEP_ALIVE_LINE)
      },
    })
    this.#filters = new FilterExchange({
      clock,
      metrics,
      filter,
      isSilent: () => this.#login !== undefined && isSilent(this.#login.server),
      write: (line) => this.#write(line),
      onOutcome: onFilter,
    })
    this.#listen()
  }

  get bytesIn(): number {
    return this.#bytesIn
  }

  get bytesOut(): number {
    return this.#bytesOut
  }

  /**
   * Changes the filter. The new filter has at most {@link IN_PLACE_BYTES} bytes. If the server has not answered the
   * login yet, the change waits for that answer.
   */
  setFilter(filter: string): void {
    this.#filters.setFilter(filter)
  }

  /** Sends a packet line. Returns false if the login is not verified, or the line cannot be sent as a packet. */
  send(line: string): boolean {
    if (!this.#login?.verified || this.#phase !== 'open') return false
    if (!this.#socket.writable || this.#socket.writableLength > MAX_UNSENT_BYTES) return false
    // The first character must be a letter or digit, because the server treats a line such as `#filter` as a command.
    if (!/^[A-Za-z0-9][^\r\n\0]*$/.test(line) || Buffer.byteLength(line) > MAX_PACKET_LINE_BYTES) return false
    this.#write(line)
    return true
  }

  /**
   * Stops reading. If the login is not answered yet, reading stops after the answer. Meanwhile, data waits at the
   * server and in the kernel.
   */
  pause(): void {
    this.#paused = true
    if (this.#login) this.#socket.pause()
  }

  resume(): void {
    this.#paused = false
    this.#socket.resume()
  }

  /** Ends the session after reading everything that the server has sent (5 s at most). */
  leave(): void {
    if (this.#phase !== 'open') return
    this.#phase = 'leaving'
    this.#silence.stop()
    this.#filters.close()
    this.#socket.end()
    this.#awaitLastLines()
  }

  /** Ends the session once the kernel has all its output, or after 1 s. */
  end(): void {
    if (this.#phase === 'ended') return
    if (!this.#login) {
      this.#finish('ended')
      return
    }
    this.#filters.close()
    this.#socket.end(() => this.#finish('ended'))
    this.#within(FLUSH_TIMEOUT_MS, () => this.#finish('ended'))
  }

  #listen(): void {
    const socket = this.#socket
    socket.on('connect', () => this.#logIn())
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('error', (error: NodeJS.ErrnoException) => this.#finish(error.code ?? error.message))
    socket.on('close', () =>
      this.#finish(
        this.#login ? 'the server closed it' : `the server closed it before the login: ${this.#lastComment}`,
      ),
    )
  }

  #logIn(): void {
    const { callsign, passcode, mayLogIn } = this.#parts
    if (!mayLogIn()) {
      this.#finish('its callsign may be in use elsewhere')
      return
    }
    this.#write(loginLine(callsign, passcode, this.#filters.filterForLogin()))
    this.#within(LOGIN_TIMEOUT_MS, () => this.#finish('no answer to the login within 10 s'))
  }

  #read(chunk: Buffer): void {
    const { metrics, lines: intake } = this.#parts
    this.#bytesIn += chunk.length
    const lines = this.#split(chunk)
    if (lines.length > MANY_LINES) this.#yieldOnce()
    if (lines.length > 0) this.#silence.onLine()
    const packets: string[] = []
    for (const line of lines) {
      if (line.charCodeAt(0) !== HASH) packets.push(line)
      else if (this.#phase !== 'leaving') this.#onComment(line)
    }
    if (packets.length === 0) return
    metrics.count('lines_received', packets.length)
    intake.take(packets)
  }

  #onComment(line: string): void {
    this.#lastComment = line
    if (this.#login) {
      this.#filters.onComment(line)
      return
    }
    const answer = parseLoginAnswer(line)
    if (answer) this.#loggedIn(answer)
  }

  #loggedIn(answer: LoginAnswer): void {
    this.#login = answer
    this.#deadline.cancel()
    if (this.#paused) this.#socket.pause()
    this.#parts.onLogin(answer)
    this.#filters.loggedIn()
  }

  #write(line: string): void {
    const bytes = Buffer.from(`${line}\r\n`)
    this.#bytesOut += bytes.length
    this.#silence.onWrite()
    this.#socket.write(bytes)
  }

  /** Lets other work run for one turn of the event loop before the next read. */
  #yieldOnce(): void {
    this.#socket.pause()
    setImmediate(() => {
      if (!this.#paused && this.#phase !== 'ended') this.#socket.resume()
    })
  }

  #awaitLastLines(): void {
    // While reading is paused, the last lines may still be in the kernel. So after a timeout during the pause, the
    // session waits again.
    this.#within(LEAVE_TIMEOUT_MS, () => (this.#paused ? this.#awaitLastLines() : this.#finish('left')))
  }

  #within(delayMs: number, task: () => void): void {
    this.#deadline.cancel()
    this.#deadline = this.#parts.clock.after(delayMs, task)
  }

  #finish(reason: string): void {
    if (this.#phase === 'ended') return
    this.#phase = 'ended'
    this.#deadline.cancel()
    this.#silence.stop()
    this.#filters.close()
    this.#socket.destroy()
    this.#parts.onEnd(reason)
  }
}
