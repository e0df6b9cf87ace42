const MAX_KEY_LENGTH = 9

const DASH = 0x2d
const ZERO = 0x30
const LOWER_A = 0x61

export type StationKeyOutcome =
  | { readonly kind: 'key'; readonly key: string }
  /** `reason` is a sentence that tells the app's developer what is wrong. */
  | { readonly kind: 'invalid'; readonly member: 'callsign' | 'ssid'; readonly reason: string }

/**
 * Returns the key for the callsign and SSID of a registration: upper case, at most 9 characters. `ssid`: an integer
 * from 0 to 99, or at most two characters of A-Z and 0-9. 0, `""`, `"0"` and null all mean no SSID.
 */
export function stationKey(callsign: string, ssid: number | string | null): StationKeyOutcome {
  // Only letters and digits, because the key becomes a term of the APRS-IS filter, where `/` and `*` have a meaning.
  if (!/^[A-Za-z0-9]+$/.test(callsign))
    return invalid('callsign', 'A callsign is letters A-Z and digits, without SSID.')
  if (callsign.length > MAX_KEY_LENGTH) return invalid('callsign', 'A callsign has at most 9 characters.')
  const suffix = ssidText(ssid)
  if (suffix === undefined)
    return invalid('ssid', 'An SSID is an integer from 0 to 99 or at most two characters of A-Z and 0-9.')
  const key = (suffix === '' ? callsign : `${callsign}-${suffix}`).toUpperCase()
  if (key.length > MAX_KEY_LENGTH) return invalid('ssid', 'Callsign, dash and SSID together have at most 9 characters.')
  return { kind: 'key', key }
}

function ssidText(ssid: number | string | null): string | undefined {
  if (ssid === null || ssid === 0 || ssid === '0') return ''
  const text = String(ssid)
  return /^[A-Za-z0-9]{0,2}$/.test(text) ? text : undefined
}

function invalid(member: 'callsign' | 'ssid', reason: string): StationKeyOutcome {
  return { kind: 'invalid', member, reason }
}

/**
 * Returns the key of a station from its name in a packet or a request; `N0CALL-0` is `N0CALL`. Returns undefined unless
 * the name has 1 to 9 letters, digits and dashes, which is what APRS-IS servers accept as a source.
 */
export function parseStationKey(name: string): string | undefined {
  return /^[A-Za-z0-9][A-Za-z0-9-]{0,8}$/.test(name) ? canonicalKey(name) : undefined
}

/** Converts a valid name to upper case and removes an SSID of 0. Does not check its characters. */
export function canonicalKey(name: string): string {
  const upper = isUpperCase(name) ? name : name.toUpperCase()
  const dash = upper.length - 2
  return upper.charCodeAt(dash + 1) === ZERO && upper.charCodeAt(dash) === DASH ? upper.slice(0, dash) : upper
}

/**
 * Whether a name needs no conversion. Nearly every name is in upper case, and this check costs less than converting.
 */
function isUpperCase(name: string): boolean {
  for (let index = 0; index < name.length; index++) if (name.charCodeAt(index) >= LOWER_A) return false
  return true
}

/** Returns the part before the dash: the callsign of the licence, without SSID. */
export function baseCallsign(key: string): string {
  const dash = key.indexOf('-')
  return dash < 0 ? key : key.slice(0, dash)
}

/** Whether a callsign with an SSID has at most 9 characters, so that such stations can exist. */
export function hasRoomForSsid(callsign: string): boolean {
  return callsign.length + '-0'.length <= MAX_KEY_LENGTH
}
