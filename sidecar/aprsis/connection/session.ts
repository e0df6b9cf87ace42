import type { Clock, Timer } from '../../clock.ts'
import type { Metrics } from '../../metrics.ts'
import { lineSplitter, MAX_LINE_BYTES } from '../protocol/lines.ts'
import { KEEP_ALIVE_LINE, type LoginAnswer, loginLine, parseLoginAnswer } from '../protocol/login.ts'
import { type Connect, connectTcp } from './connect-tcp.ts'
import { FilterExchange, type FilterOutcome } from './filter-exchange.ts'

const CONNECT_TIMEOUT_MS = 10_000
const LOGIN_TIMEOUT_MS = 10_000
const LEAVE_TIMEOUT_MS = 5000
const FLUSH_TIMEOUT_MS = 1000

/**
 * Servers chat every 20 s. Counted in ticks, not by the wall clock, which may step: dead after 60 to 75 s without a
 * line. A byte now and then is no sign of life: some boxes between us and the server answer in its place.
 */
const SILENCE_TICK_MS = 15_000
const SILENT_TICKS = 5

/** Servers drop a client that writes nothing: aprsc after 48 h by default, others sooner. Half an hour, in ticks. */
const KEEP_ALIVE_TICKS = 120

/** Longest packet line that leaves a server; a longer one would vanish there. */
const MAX_PACKET_LINE_BYTES = 509

/** Unsent output beyond which lines are refused: more than a thousand acks. */
const MAX_UNSENT_BYTES = 65_536

/**
 * Lines of one read after which everything else gets a turn first. Node reads up to 2 MB in one turn: a million short
 * lines, with which a server would hold up syncs for seconds. The whole network sends some hundred lines a second.
 */
const MANY_LINES = 1000

const HASH = 35

/** One connection to an APRS-IS server, from the first packet to its end. */
export interface Session {
  readonly bytesIn: number
  readonly bytesOut: number
  /** Another filter of at most {@link IN_PLACE_BYTES}; sent once the login is through. */
  setFilter(filter: string): void
  /** False when the login is not verified, or the line is not fit to be sent. */
  send(line: string): boolean
  /** Stops reading, from the login on; what the server sends meanwhile waits there and in the kernel. */
  pause(): void
  resume(): void
  /** Ends the connection after everything that the server sent is read, or after 5 s. */
  leave(): void
  /** Ends it after what was sent is handed to the kernel. */
  end(): void
}

export interface SessionOptions {
  /** By TCP where nothing is said. */
  readonly connect?: Connect | undefined
  readonly host: string
  readonly port: number
  readonly call: string
  readonly passcode: number
  /** Set by the login line. */
  readonly filter: string
  readonly clock: Clock
  readonly metrics: Metrics
  /** Asked right before the login line is sent; false ends the session. */
  mayLogIn(): boolean
  onLogin(answer: LoginAnswer): void
  /** Whether this server is known to answer no `#filter` line. */
  isSilent(server: string): boolean
  onFilter(outcome: FilterOutcome): void
  /** Packet lines as Latin-1, those of one read together. */
  onLines(lines: readonly string[]): void
  /** Exactly once, and last; `reason` is for the log. */
  onEnd(reason: string): void
}

export function openSession(options: SessionOptions): Session {
  const { connect = connectTcp, host, port, call, passcode, clock, metrics } = options
  const socket = connect({ host, port })
  const split = lineSplitter(MAX_LINE_BYTES, () => metrics.count('lines_too_long'))

  let login: LoginAnswer | undefined
  let paused = false
  let leaving = false
  let ended = false
  let silentTicks = 0
  let quietTicks = 0
  let lastWords = ''
  let bytesIn = 0
  let bytesOut = 0
  let deadline = clock.after(CONNECT_TIMEOUT_MS, () => finish('no connection within 10 s'))
  let watch: Timer = clock.after(SILENCE_TICK_MS, listen)
  const filters = new FilterExchange({
    clock,
    metrics,
    filter: options.filter,
    isSilent: () => login !== undefined && options.isSilent(login.server),
    write,
    onOutcome: options.onFilter,
  })

  function finish(reason: string): void {
    if (ended) return
    ended = true
    deadline.cancel()
    watch.cancel()
    filters.close()
    socket.destroy()
    options.onEnd(reason)
  }

  function within(delayMs: number, task: () => void): void {
    deadline.cancel()
    deadline = clock.after(delayMs, task)
  }

  function write(line: string): void {
    const bytes = Buffer.from(`${line}\r\n`)
    bytesOut += bytes.length
    quietTicks = 0
    socket.write(bytes)
  }

  function listen(): void {
    // Who does not read cannot tell silence from talk.
    silentTicks = paused ? 0 : silentTicks + 1
    quietTicks += 1
    if (silentTicks >= SILENT_TICKS) {
      finish('the server fell silent')
      return
    }
    if (login && quietTicks >= KEEP_ALIVE_TICKS) write(KEEP_ALIVE_LINE)
    watch = clock.after(SILENCE_TICK_MS, listen)
  }

  function giveWay(): void {
    socket.pause()
    setImmediate(() => {
      if (!paused && !ended) socket.resume()
    })
  }

  function logIn(): void {
    if (!options.mayLogIn()) {
      finish('its call may be in use elsewhere')
      return
    }
    write(loginLine(call, passcode, filters.filterForLogin()))
    within(LOGIN_TIMEOUT_MS, () => finish('no answer to the login within 10 s'))
  }

  function loggedIn(answer: LoginAnswer): void {
    login = answer
    deadline.cancel()
    if (paused) socket.pause()
    options.onLogin(answer)
    filters.loggedIn()
  }

  function onServerLine(line: string): void {
    lastWords = line
    if (login) {
      filters.onComment(line)
      return
    }
    const answer = parseLoginAnswer(line)
    if (answer) loggedIn(answer)
  }

  socket.on('connect', logIn)
  socket.on('data', (chunk) => {
    bytesIn += chunk.length
    const lines = split(chunk)
    if (lines.length > MANY_LINES) giveWay()
    const packets: string[] = []
    for (const line of lines) {
      silentTicks = 0
      if (line.charCodeAt(0) !== HASH) packets.push(line)
      else if (!leaving) onServerLine(line)
    }
    if (packets.length === 0) return
    metrics.count('lines_received', packets.length)
    options.onLines(packets)
  })
  socket.on('error', (error: NodeJS.ErrnoException) => finish(error.code ?? error.message))
  socket.on('close', () =>
    finish(login ? 'the server closed it' : `the server closed it before the login: ${lastWords}`),
  )

  function awaitFarewell(): void {
    // While reading is paused the rest still lies in the kernel.
    within(LEAVE_TIMEOUT_MS, () => (paused ? awaitFarewell() : finish('left')))
  }

  return {
    get bytesIn() {
      return bytesIn
    },
    get bytesOut() {
      return bytesOut
    },
    setFilter: (filter) => filters.setFilter(filter),
    send(line) {
      if (!login?.verified || leaving || !socket.writable || socket.writableLength > MAX_UNSENT_BYTES) return false
      // The first character also keeps a packet from being taken for a command.
      if (!/^[A-Za-z0-9][^\r\n\0]*$/.test(line) || Buffer.byteLength(line) > MAX_PACKET_LINE_BYTES) return false
      write(line)
      return true
    },
    pause() {
      paused = true
      if (login) socket.pause()
    },
    resume() {
      paused = false
      socket.resume()
    },
    leave() {
      if (leaving || ended) return
      leaving = true
      watch.cancel()
      filters.close()
      socket.end()
      awaitFarewell()
    },
    end() {
      if (!login) {
        finish('ended')
        return
      }
      filters.close()
      socket.end(() => finish('ended'))
      within(FLUSH_TIMEOUT_MS, () => finish('ended'))
    },
  }
}
