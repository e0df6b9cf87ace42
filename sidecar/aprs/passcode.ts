import { baseCallsign } from './station.ts'

/** Computes the APRS-IS passcode, the same for all SSIDs of a callsign. It is not secret: anyone can compute it. */
export function passcodeOf(key: string): number {
  const callsign = baseCallsign(key).toUpperCase()
  let hash = 0x73e2
  for (let i = 0; i < callsign.length; i++) hash ^= callsign.charCodeAt(i) << (i % 2 === 0 ? 8 : 0)
  return hash & 0x7fff
}

/** Whether `auth`, from a request, is the passcode of the station with this key. */
export function passcodeMatches(key: string, auth: number): boolean {
  return passcodeOf(key) === auth
}
