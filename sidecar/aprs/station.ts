const MAX_KEY_LENGTH = 9

const DASH = 0x2d
const ZERO = 0x30
const LOWER_A = 0x61

export type StationKeyOutcome =
  | { readonly kind: 'key'; readonly key: string }
  /**
   * `member` names the invalid argument. `reason` is a sentence that tells the app's developer what is wrong with the
   * value.
   */
  | { readonly kind: 'invalid'; readonly member: 'callsign' | 'ssid'; readonly reason: string }

/**
 * Returns the station key, at most 9 characters. `ssid`: 0 to 99, or one or two of A-Z and 0-9. 0, `""`, `"0"` and null
 * mean no SSID.
 */
export function stationKey(callsign: string, ssid: number | string | null): StationKeyOutcome {
  // Only letters and digits are allowed, because the key becomes part of an APRS-IS filter, in which `/` and `*` are
  // operators.
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
 * Returns the key of a station from its name (`N0CALL` for `N0CALL-0`), if APRS-IS servers accept the name: 1 to 9
 * letters, digits and dashes.
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
 * Whether a name has no lower-case letters. This check is faster than `toUpperCase`, and nearly every name passes it.
 */
function isUpperCase(name: string): boolean {
  for (let index = 0; index < name.length; index++) if (name.charCodeAt(index) >= LOWER_A) return false
  return true
}

/** Returns the callsign without its SSID, as the radio licence has it. */
export function baseCallsign(key: string): string {
  const dash = key.indexOf('-')
  return dash < 0 ? key : key.slice(0, dash)
}

/** Whether the callsign is short enough for an SSID. Callsign, dash and SSID together have at most 9 characters. */
export function hasRoomForSsid(callsign: string): boolean {
  return callsign.length + '-0'.length <= MAX_KEY_LENGTH
}
