import { type ClientHttp2Session, connect } from 'node:http2'
import { Agent, request } from 'node:https'
import { answerOrders } from './program.ts'
import type { KeptPush, PushService } from './push-gateway-server.ts'

/** What the client is told, one at a time. */
export type PeerOrder =
  /** Where it connects to, what it sends, and how much of it at a time; answered once it is connected. */
  | {
      readonly kind: 'open'
      readonly service: PushService
      readonly port: number
      readonly ca: string
      readonly pushes: readonly KeptPush[]
      readonly inFlight: number
    }
  /** Sends all of it; answered with the microseconds of CPU time that this took. */
  | { readonly kind: 'send' }

type Send = (push: KeptPush) => Promise<void>

let sendAll: () => Promise<void> = async () => undefined

/** The yardstick: Node's own client, which sends what it was given, and looks at the status of what comes back. */
async function open({ service, port, ca, pushes, inFlight }: Extract<PeerOrder, { kind: 'open' }>): Promise<void> {
  const send = service === 'fcm' ? overHttps(port, ca, inFlight) : await overHttp2(port, ca)
  sendAll = async () => {
    const left = pushes.values()
    const sendInTurn = async () => {
      for (const push of left) await send(push)
    }
    await Promise.all(Array.from({ length: inFlight }, sendInTurn))
  }
}

function overHttps(port: number, ca: string, connections: number): Send {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, ca })
  // The name in the pushes' Host is not that of the certificate.
  const to = { host: '127.0.0.1', port, servername: '', agent, method: 'POST' }
  return ({ path, headers, body }) =>
    new Promise((resolve, reject) => {
      request({ ...to, path, headers }, (response) => {
        if (response.statusCode !== 200) reject(new Error(`status ${response.statusCode}`))
        response.resume().on('end', resolve).on('error', reject)
      })
        .on('error', reject)
        .end(body)
    })
}

async function overHttp2(port: number, ca: string): Promise<Send> {
  const session = await new Promise<ClientHttp2Session>((resolve, reject) => {
    const one = connect(`https://127.0.0.1:${port}`, { ca }, () => resolve(one)).on('error', reject)
  })
  return ({ headers, body }) =>
    new Promise((resolve, reject) => {
      session
        .request(headers)
        .on('response', ({ ':status': status }) => {
          if (status !== 200) reject(new Error(`status ${status}`))
        })
        .on('end', resolve)
        .on('error', reject)
        .resume()
        .end(body)
    })
}

async function carryOut(order: PeerOrder): Promise<number> {
  if (order.kind === 'open') {
    await open(order)
    return 0
  }
  const before = process.cpuUsage()
  await sendAll()
  const { user, system } = process.cpuUsage(before)
  return user + system
}

answerOrders(carryOut)
