import { createHash } from 'node:crypto'
import { Agent, type IncomingMessage, request } from 'node:http'
import { request as requestTls, Agent as TlsAgent } from 'node:https'
import { text } from 'node:stream/consumers'
import { passcodeOf } from '../../sidecar/index.ts'
import type { BuiltSidecar } from './built-sidecar.ts'

const AT_ONCE = 50

export type Phone = 'android' | 'ios'

export interface Registrations {
  /** Of all of them; `android` where it is not given. */
  readonly platform?: Phone
  /** Of each station, all but the first with an id of its own; 1 where it is not given. */
  readonly devices?: number
  /** Those that acknowledge what they get. */
  readonly acknowledging?: readonly string[]
  /** In PEM, where the sidecar serves TLS. */
  readonly ca?: string | undefined
}

/** Registers them over the API, many at once. */
export async function registerStations(
  { url }: BuiltSidecar,
  callsigns: readonly string[],
  { platform = 'android', devices = 1, acknowledging = [], ca }: Registrations = {},
): Promise<void> {
  const post = poster(`${url}/v1/register`, ca)
  const left = callsigns.values()
  const registerInTurn = async () => {
    for (const callsign of left)
      for (let device = 0; device < devices; device += 1)
        await post({
          callsign,
          ssid: 0,
          auth: passcodeOf(callsign),
          ...(device > 0 && { deviceId: `${callsign}.${device}` }),
          platform,
          pushToken: pushTokenOf(device > 0 ? `${callsign}.${device}` : callsign, platform),
          ackMessages: acknowledging.includes(callsign),
        })
  }
  await Promise.all(Array.from({ length: AT_ONCE }, registerInTurn)).finally(post.end)
}

/** As long as those of Android here, and as the vendor's of iPhones. */
export function pushTokenOf(callsign: string, platform: Phone): string {
  return platform === 'android' ? `token-of-${callsign}` : createHash('sha256').update(callsign).digest('hex')
}

/** Posts JSON to an address over connections that it keeps until `end`; rejects unless the answer is 200. */
function poster(address: string, ca: string | undefined) {
  const agent = ca === undefined ? new Agent({ keepAlive: true }) : new TlsAgent({ keepAlive: true, ca })
  const send = ca === undefined ? request : requestTls
  const post = async (body: object) => {
    const response = await new Promise<IncomingMessage>((resolve, reject) => {
      send(address, { method: 'POST', agent, headers: { 'content-type': 'application/json' } }, resolve)
        .on('error', reject)
        .end(JSON.stringify(body))
    })
    const answer = await text(response)
    if (response.statusCode !== 200) throw new Error(`register: ${response.statusCode} ${answer}`)
  }
  return Object.assign(post, { end: () => agent.destroy() })
}
