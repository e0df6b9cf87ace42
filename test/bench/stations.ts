import { createHash } from 'node:crypto'
import { Agent } from 'node:http'
import { Agent as TlsAgent } from 'node:https'
import { text } from 'node:stream/consumers'
import { passcodeOf } from '../../sidecar/index.ts'
import type { BuiltSidecar } from './built-sidecar.ts'
import { postJson } from './post-json.ts'

const AT_ONCE = 50

export type Phone = 'android' | 'ios'

export interface Registrations {
  /** Platform of all of them; `android` by default. */
  readonly platform?: Phone
  /** Devices of each station, all but the first with an id; 1 by default. */
  readonly devices?: number
  /** Stations that acknowledge their messages. */
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
  const agent = ca === undefined ? new Agent({ keepAlive: true }) : new TlsAgent({ keepAlive: true, ca })
  const nextCallsign = callsigns.values()
  const registerInTurn = async () => {
    for (const callsign of nextCallsign)
      for (let device = 0; device < devices; device += 1) {
        const registration = {
          ...claim(callsign),
          ...(device > 0 && { deviceId: `${callsign}.${device}` }),
          platform,
          pushToken: pushTokenOf(device > 0 ? `${callsign}.${device}` : callsign, platform),
          ackMessages: acknowledging.includes(callsign),
        }
        const answer = await postJson(`${url}/v1/register`, registration, { agent })
        const body = await text(answer)
        if (answer.statusCode !== 200) throw new Error(`register: ${answer.statusCode} ${body}`)
      }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, registerInTurn)).finally(() => agent.destroy())
}

/** Returns the members that every request has. */
export function claim(callsign: string) {
  return { callsign, ssid: 0, auth: passcodeOf(callsign) }
}

/** As long as Android's tokens here, and as the vendor's for iPhones. */
export function pushTokenOf(callsign: string, platform: Phone): string {
  return platform === 'android' ? `token-of-${callsign}` : createHash('sha256').update(callsign).digest('hex')
}
