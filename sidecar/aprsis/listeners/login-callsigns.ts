import type { StationKey } from '../../messages/store.ts'

const MAX_CALLSIGN_LENGTH = 9

/**
 * Returns a free login callsign: `configured`, or its base with an SSID from 99 down to 16, which radios cannot have
 * (AX.25). Undefined if none is free. A server drops the older of two logins with one callsign.
 */
export function freeLoginCallsign(
  configured: string,
  inUse: ReadonlySet<string>,
  stations: ReadonlySet<StationKey>,
): string | undefined {
  if (!inUse.has(configured)) return configured
  const [base = configured] = configured.split('-')
  for (let ssid = 99; ssid > 15; ssid--) {
    const callsign = `${base}-${ssid}`
    if (callsign.length <= MAX_CALLSIGN_LENGTH && !inUse.has(callsign) && !stations.has(callsign)) return callsign
  }
  return undefined
}

/** Returns every callsign that the sidecar may use to log in, now or later. No station may register one of them. */
export function loginCallsigns(configured: string): readonly string[] {
  const [base = configured] = configured.split('-')
  return [configured, ...Array.from({ length: 84 }, (_, index) => `${base}-${99 - index}`)]
}

/**
 * Returns how many different callsigns {@link freeLoginCallsign} can return. There is only one if the base callsign is
 * too long for an SSID of two digits.
 */
export function loginCallsignCount(configured: string): number {
  const [base = configured] = configured.split('-')
  return `${base}-99`.length > MAX_CALLSIGN_LENGTH ? 1 : 84
}
