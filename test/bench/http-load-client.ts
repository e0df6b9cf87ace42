import { connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { usageOf } from './process-usage.ts'

/** Orders for the load program. */
export interface LoadOrder {
  readonly port: number
  /** Process id of the server. */
  readonly pid: number | undefined
  /** CA of the server's certificate in PEM; undefined for plain HTTP. */
  readonly ca?: string | undefined
  /** Complete requests with headers and body. Each connection sends all of them in turn. */
  readonly requests: readonly string[]
  readonly connections: number
  /** Whether the server time of an answer becomes the `since` of the next equal request, as on phones. */
  readonly takesCursors: boolean
  /** Duration of the load before the measurement begins. */
  readonly warmUpMs: number
  readonly durationMs: number
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
 * Keeps each connection busy with one request at a time. It uses bare sockets, so that the server is the bottleneck:
 * the HTTP client of Node.js needs three times the server's time for a request.
 */
export async function load(order: LoadOrder) {
  const { port, pid, ca, requests, connections, takesCursors } = order
  const bytes = requests.map((text) => Buffer.from(text, 'latin1'))
  const cursorsAt = bytes.map((request) => request.indexOf(SINCE) + SINCE.length)
  const waits: number[] = []
  let received = 0
  let countingFrom = Number.POSITIVE_INFINITY
  let ending = false
  const sockets = new Set<Socket>()
  let fail: (error: Error) => void = () => undefined
  const failed = new Promise<never>((_resolve, reject) => {
    fail = reject
  })

  function open(first: number): void {
    let turn = first
    let requestCount = 0
    let sentAt = 0
    let held = Buffer.alloc(0)
    const send = (): void => {
      sentAt = performance.now()
      requestCount = turn % bytes.length
      socket.write(bytes[requestCount] as Buffer)
      turn += connections
    }
    const onChunk = (chunk: Buffer): void => {
      const answer = held.length === 0 ? chunk : Buffer.concat([held, chunk])
      const head = headOf(answer)
      if (head === undefined || answer.length < head.wholeBytes) {
        held = Buffer.from(answer)
        return
      }
      if (!head.ok || answer.length > head.wholeBytes) {
        fail(new Error(`Not an answer to one request: ${answer.toString('latin1', 0, 200)}`))
        return
      }
      held = Buffer.alloc(0)
      if (takesCursors) {
        const time = answer.lastIndexOf(SERVER_TIME) + SERVER_TIME.length
        answer.copy(bytes[requestCount] as Buffer, cursorsAt[requestCount], time, time + TIME_BYTES)
      }
      const now = performance.now()
      if (now >= countingFrom) {
        waits.push(now - sentAt)
        received += head.wholeBytes
      }
      // The server ends a connection after some thousand requests, so a new one is opened.
      if (head.last) {
        socket.destroy()
        open(turn)
      } else if (!ending) send()
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
    sockets.add(socket)
    socket.on(ca === undefined ? 'connect' : 'secureConnect', send)
    socket.on('error', fail)
    socket.on('close', () => {
      sockets.delete(socket)
      if (held.length > 0) fail(new Error('The server ended a connection within an answer.'))
    })
  }

  for (let index = 0; index < connections; index += 1) open(index)
  const pause = (ms: number) => Promise.race([failed, new Promise((resolve) => setTimeout(resolve, ms))])
  await pause(order.warmUpMs)
  const server = usageOf(pid)
  const cpuBefore = server.cpuMicroseconds()
  countingFrom = performance.now()
  await pause(order.durationMs)
  const cpu = server.cpuMicroseconds() - cpuBefore
  const elapsedMs = performance.now() - countingFrom
  ending = true
  for (const socket of sockets) socket.destroy()
  if (waits.length === 0) throw new Error('There was no answer.')
  waits.sort((a, b) => a - b)
  const quantile = (share: number) => waits[Math.floor((waits.length - 1) * share)] as number
  return {
    requestsPerSecond: waits.length / (elapsedMs / 1000),
    /** 99th percentile of the time from the write of a request to the last byte of its answer. */
    p99Ms: quantile(0.99),
    /** CPU time of the server for a request, in microseconds. */
    cpuUs: cpu / waits.length,
    /** Average size of an answer, with headers. */
    answerBytes: received / waits.length,
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
