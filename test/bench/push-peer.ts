import { type ClientHttp2Session, connect } from 'node:http2'
import { Agent, request } from 'node:https'
import type { KeptPush, PushService } from './push-gateway-server.ts'

/** Parameters of the peer: the gateway, the pushes to send, and the limit of pushes in flight. */
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
 * Connects the peer of the comparison: the HTTP client of Node.js, which sends prepared pushes and checks the status of
 * each answer. Resolves once it is connected.
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

/** Sends all pushes. @returns the CPU time of this in microseconds */
export async function send(): Promise<number> {
  const usageBefore = process.cpuUsage()
  await sendAll()
  const { user, system } = process.cpuUsage(usageBefore)
  return user + system
}

function overHttps(port: number, ca: string, connections: number): Send {
  const agent = new Agent({ keepAlive: true, maxSockets: connections, ca })
  // Without a TLS server name, because the Host header of the pushes has another name than the certificate.
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
