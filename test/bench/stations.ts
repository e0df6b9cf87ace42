import { passcodeOf } from '../../sidecar/index.ts'
import type { BuiltSidecar } from './built-sidecar.ts'

const AT_ONCE = 50

/** Registers them over the API, many at once. `acknowledging` are those that acknowledge what they get. */
export async function registerStations(
  { url }: BuiltSidecar,
  callsigns: readonly string[],
  acknowledging: readonly string[] = [],
): Promise<void> {
  const left = callsigns.values()
  const registerInTurn = async () => {
    for (const callsign of left) {
      const response = await fetch(`${url}/v1/register`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({
          callsign,
          ssid: 0,
          auth: passcodeOf(callsign),
          platform: 'android',
          pushToken: `token-of-${callsign}`,
          ackMessages: acknowledging.includes(callsign),
        }),
      })
      if (response.status !== 200) throw new Error(`register: ${response.status} ${await response.text()}`)
      await response.arrayBuffer()
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, registerInTurn))
}
