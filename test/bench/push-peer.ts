import { type ClientHttp2Session, connect } from 'node:http2'
import { Agent, request } from 'node:https'
import type { KeptPush, PushService } from './push-gateway-server.ts'

/** Where it connects to, what it sends, and how much of it at a time. */
interface PeerOrder {
  readonly service: PushService
  readonly port: number
  readonly ca: string
  readonly pushes: readonly KeptPush[]
  readonly inFlight: number
}

type Send = (push: KeptPush) => Promise<void>

let sendAll: () => Promise<void> = async () => undefined

/**
 * The yardstick: Node's own client, which sends what it was given, and looks at the status of what comes back. Resolves
 * once it is connected.
 */
export async function open({ service, port, ca, pushes, inFlight }: PeerOrder): Promise<void> {
  const sendOne = service === 'fcm' ? overHttps(port, ca, inFlight) : await overHttp2(port, ca)
  sendAll = async () => {
    const nextPush = pushes.values()
    const sendInTurn = async () => {
      for (const push of nextPush) await sendOne(push)
    }
    await Promise.all(Array.from({ length: inFlight }, sendInTurn))
  }
}

/** Sends all of it. @returns the microseconds of CPU time that this took */
export async function send(): Promise<number> {
  const usageBefore = process.cpuUsage()
  await sendAll()
  const { user, system } = process.cpuUsage(usageBefore)
  return user + system
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
    const item = connect(`https://127.0.0.1:${port}`, { ca }, () => resolve(item)).on('error', reject)
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
