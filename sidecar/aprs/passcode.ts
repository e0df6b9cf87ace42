import { baseCallsign } from './station.ts'

/** The APRS-IS passcode of a station: the same for all SSIDs of a callsign. It is not secret, anyone can compute it. */
export function passcodeOf(key: string): number {
  const call = baseCallsign(key).toUpperCase()
  let hash = 0x73e2
  for (let i = 0; i < call.length; i++) hash ^= call.charCodeAt(i) << (i % 2 === 0 ? 8 : 0)
  return hash & 0x7fff
}

/** Whether `auth` of a request is the passcode of the station that it names. */
export function passcodeMatches(key: string, auth: number): boolean {
  return passcodeOf(key) === auth
}
