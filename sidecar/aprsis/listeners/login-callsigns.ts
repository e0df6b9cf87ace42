import type { StationKey } from '../../messages/store.ts'

const MAX_CALL_LENGTH = 9

/**
 * A call for one more connection: `configured` while it is free, then the same base call with SSIDs from 99 down to 16.
 * Radios have SSIDs up to 15 only (AX.25), so these disturb none of the operator's own; the server drops the older of
 * two logins with one call. Undefined when all are taken.
 */
export function freeLoginCallsign(
  configured: string,
  inUse: ReadonlySet<string>,
  stations: ReadonlySet<StationKey>,
): string | undefined {
  if (!inUse.has(configured)) return configured
  const [base = configured] = configured.split('-')
  for (let ssid = 99; ssid > 15; ssid--) {
    const call = `${base}-${ssid}`
    if (call.length <= MAX_CALL_LENGTH && !inUse.has(call) && !stations.has(call)) return call
  }
  return undefined
}

/**
 * Every call that our logins may have, whether {@link freeLoginCallsign} gives it today or not: they are no station's.
 */
export function loginCallsigns(configured: string): readonly string[] {
  const [base = configured] = configured.split('-')
  return [configured, ...Array.from({ length: 84 }, (_, index) => `${base}-${99 - index}`)]
}

/**
 * How many logins {@link freeLoginCallsign} can tell apart: one where a base call is too long for a second digit of
 * SSID.
 */
export function loginCallsignCount(configured: string): number {
  const [base = configured] = configured.split('-')
  return `${base}-99`.length > MAX_CALL_LENGTH ? 1 : 84
}
