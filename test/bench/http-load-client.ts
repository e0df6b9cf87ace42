import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { connect as connectTls } from 'node:tls'
import { deferred } from '../support/deferred.ts'
import { usageOf } from './process-usage.ts'

/** The server, and the requests that it gets. */
export interface Requests {
  readonly port: number
  /** CA of the server's certificate in PEM; undefined for plain HTTP. */
  readonly ca?: string | undefined
  /** Complete requests with headers and body. They are sent in turn. */
  readonly requests: readonly string[]
  readonly connections: number
  /** Whether the server time of an answer becomes the `since` of the next equal request, as on phones. */
  readonly takesCursors: boolean
}

/** Parameters of the load program. */
export interface LoadOrder extends Requests {
  /** Process id of the server. */
  readonly pid: number | undefined
  /** Index of the first request. Default: 0. A round that continues after the previous one reaches all stations. */
  readonly first?: number
  /** Duration of the load before the measurement begins. */
  readonly warmUpMs: number
  readonly durationMs: number
}

/** An answer, and when its request was sent. `turn`: the number of requests that were sent before. */
interface Answer {
  readonly turn: number
  readonly sentAt: number
  readonly bytes: number
}

export type LoadResult = Awaited<ReturnType<typeof load>>

const BUFFER_BYTES = 65_536
const END_OF_HEAD = Buffer.from('\r\n\r\n')
const SINCE = '"since":'
const SERVER_TIME = '"serverTime":'
/** Number of digits of a time in milliseconds since 1970, from 2001 to 2286. */
const TIME_BYTES = 13
const OK = Buffer.from('HTTP/1.1 200 ')

/**
 * Sends requests until `durationMs` have passed, and measures the answers. The measurement begins after `warmUpMs`, and
 * not before each connection has had an answer. Otherwise it would include handshakes of TLS.
 */
export async function load(order: LoadOrder) {
  const waits: number[] = []
  let received = 0
  let countingFrom = Number.POSITIVE_INFINITY
  const lines = new BusyConnections(order, order.first ?? 0, ({ sentAt, bytes }) => {
    const now = performance.now()
    if (now < countingFrom) return
    waits.push(now - sentAt)
    received += bytes
  })
  await lines.failedOr(Promise.all([lines.allAnswered, pause(order.warmUpMs)]))
  const server = usageOf(order.pid)
  const cpuBefore = server.cpuMicroseconds()
  countingFrom = performance.now()
  await lines.failedOr(pause(order.durationMs))
  const cpu = server.cpuMicroseconds() - cpuBefore
  const elapsedMs = performance.now() - countingFrom
  lines.close()
  if (waits.length === 0) throw new Error('There was no answer.')
  waits.sort((a, b) => a - b)
  const quantile = (share: number) => waits[Math.floor((waits.length - 1) * share)] as number
  return {
    perSecond: waits.length / (elapsedMs / 1000),
    /** 99th percentile of the time from the write of a request to the last byte of its answer. */
    p99Ms: quantile(0.99),
    /** CPU time of the server for a request, in microseconds. */
    cpuUs: cpu / waits.length,
    /** Average size of an answer, with headers. */
    answerBytes: received / waits.length,
    /** Number of all requests, with those of the warm-up. */
    sent: lines.sent,
    /** Index of the request with which the next round continues. */
    next: lines.next,
  }
}

/** Sends each request once, and some of them twice. Rejects if this takes longer than `mostMs`. */
export async function askAll(order: Requests, mostMs: number): Promise<void> {
  const wanted = order.requests.length
  const all = deferred()
  let answered = 0
  const lines = new BusyConnections(order, 0, ({ turn }) => {
    if (turn < wanted) answered += 1
    if (answered === wanted) all.resolve()
  })
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`Only ${answered} of ${wanted} answers in ${mostMs} ms.`)), mostMs)
  })
  await lines.failedOr(Promise.race([all.promise, tooLate])).finally(() => {
    clearTimeout(timer)
    lines.close()
  })
}

/**
 * Keeps each connection busy with one request at a time. It uses bare sockets, so that the server is the bottleneck:
 * the HTTP client of Node.js needs three times the server's time for a request.
 *
 * It sends from the constructor on, until `close`. The server ends a connection after some thousand requests. Then a
 * new one is opened.
 */
class BusyConnections {
  readonly #order: Requests
  readonly #bytes: readonly Buffer[]
  readonly #cursorsAt: readonly number[]
  readonly #onAnswer: (answer: Answer) => void
  readonly #sockets = new Set<Socket>()
  readonly #failed: Promise<never>
  readonly #allAnswered = deferred()
  #fail: (error: Error) => void = () => undefined
  #withAnswer = 0
  readonly #first: number
  #turn: number
  #ending = false

  constructor(order: Requests, first: number, onAnswer: (answer: Answer) => void) {
    this.#order = order
    this.#first = first
    this.#turn = first
    this.#onAnswer = onAnswer
    this.#bytes = order.requests.map((text) => Buffer.from(text, 'latin1'))
    this.#cursorsAt = this.#bytes.map((request) => request.indexOf(SINCE) + SINCE.length)
    this.#failed = new Promise<never>((_resolve, reject) => {
      this.#fail = reject
    })
    for (let index = 0; index < order.connections; index += 1) this.#open()
  }

  /** Resolves once each connection has had an answer. */
  get allAnswered(): Promise<void> {
    return this.#allAnswered.promise
  }

  get next(): number {
    return this.#turn % this.#bytes.length
  }

  get sent(): number {
    return this.#turn - this.#first
  }

  /** Resolves with `wanted`. Rejects if a connection fails before. */
  failedOr<Result>(wanted: Promise<Result>): Promise<Result> {
    return Promise.race([this.#failed, wanted])
  }

  close(): void {
    this.#ending = true
    for (const socket of this.#sockets) socket.destroy()
  }

  #open(): void {
    const { port, ca } = this.#order
    let turn = 0
    let sentAt = 0
    let isNew = true
    let held = Buffer.alloc(0)
    const send = (): void => {
      sentAt = performance.now()
      turn = this.#turn
      this.#turn += 1
      socket.write(this.#bytes[turn % this.#bytes.length] as Buffer)
    }
    const onChunk = (chunk: Buffer): void => {
      const answer = held.length === 0 ? chunk : Buffer.concat([held, chunk])
      const head = headOf(answer)
      if (head === undefined || answer.length < head.wholeBytes) {
        held = Buffer.from(answer)
        return
      }
      if (!head.ok || answer.length > head.wholeBytes) {
        this.#fail(new Error(`Not an answer to one request: ${answer.toString('latin1', 0, 200)}`))
        return
      }
      held = Buffer.alloc(0)
      if (this.#order.takesCursors) this.#takeCursor(answer, turn % this.#bytes.length)
      this.#onAnswer({ turn, sentAt, bytes: head.wholeBytes })
      if (isNew) this.#countFirst()
      isNew = false
      if (this.#ending) return
      if (head.last) {
        socket.destroy()
        this.#open()
      } else send()
    }
    const options = {
      port,
      host: '127.0.0.1',
      noDelay: true,
      onread: {
        buffer: Buffer.allocUnsafe(BUFFER_BYTES),
        callback: (count: number, buffer: Uint8Array) => {
          onChunk((buffer as Buffer).subarray(0, count))
          return true
        },
      },
    }
    const socket = ca === undefined ? connect(options) : connectTls({ ...options, ca })
    this.#sockets.add(socket)
    socket.on(ca === undefined ? 'connect' : 'secureConnect', send)
    socket.on('error', this.#fail)
    socket.on('close', () => {
      this.#sockets.delete(socket)
      if (held.length > 0) this.#fail(new Error('The server ended a connection within an answer.'))
    })
  }

  #countFirst(): void {
    this.#withAnswer += 1
    if (this.#withAnswer === this.#order.connections) this.#allAnswered.resolve()
  }

  #takeCursor(answer: Buffer, index: number): void {
    const time = answer.lastIndexOf(SERVER_TIME) + SERVER_TIME.length
    answer.copy(this.#bytes[index] as Buffer, this.#cursorsAt[index], time, time + TIME_BYTES)
  }
}

/** Parses the head of an answer. Returns undefined while it is incomplete. */
function headOf(answer: Buffer): { wholeBytes: number; ok: boolean; last: boolean } | undefined {
  const end = answer.indexOf(END_OF_HEAD)
  if (end < 0) return undefined
  const head = answer.toString('latin1', 0, end)
  const [, length] = /\r\ncontent-length: (\d+)/i.exec(head) ?? []
  if (length === undefined) throw new Error(`An answer without a length: ${head}`)
  return {
    wholeBytes: end + END_OF_HEAD.length + Number(length),
    ok: answer.subarray(0, OK.length).equals(OK),
    last: /\r\nconnection: close/i.test(head),
  }
}
