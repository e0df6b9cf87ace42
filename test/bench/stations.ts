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
  /** Platform of all devices. Default: `android`. */
  readonly platform?: Phone
  /** Number of devices of each station. All but the first have an id. Default: 1. */
  readonly devices?: number
  /** Stations that acknowledge their messages. */
  readonly acknowledging?: readonly string[]
  /** CA of the sidecar's certificate in PEM; undefined for plain HTTP. */
  readonly ca?: string | undefined
}

/** Registers the stations through the API, many at once. */
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

/** Returns a push token for a station. A token for iOS is as long as a real one. */
export function pushTokenOf(callsign: string, platform: Phone): string {
  return platform === 'android' ? `token-of-${callsign}` : createHash('sha256').update(callsign).digest('hex')
}
