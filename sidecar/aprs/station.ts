const MAX_KEY_LENGTH = 9

const DASH = 0x2d
const ZERO = 0x30
const LOWER_A = 0x61

export type StationKeyOutcome =
  | { readonly kind: 'key'; readonly key: string }
  /** `reason` is a sentence for the caller of the API. */
  | { readonly kind: 'invalid'; readonly member: 'callsign' | 'ssid'; readonly reason: string }

/**
 * The key of a station that registers: `CALL` or `CALL-SSID`, upper case, at most 9 characters.
 * `ssid`: an integer from 0 to 99 or at most two of A-Z 0-9; 0, `""`, `"0"` and null all mean none.
 */
export function stationKey(callsign: string, ssid: number | string | null): StationKeyOutcome {
  // Letters and digits only: the key becomes a term of the upstream filter, where `/` and `*` have a meaning.
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
 * The key of a station as a packet or a client names it; `CALL-0` is `CALL`. Undefined when it is no station's name:
 * 1 to 9 letters, digits and dashes, as APRS-IS servers take them for a source.
 */
export function parseStationKey(name: string): string | undefined {
  return /^[A-Za-z0-9][A-Za-z0-9-]{0,8}$/.test(name) ? canonicalKey(name) : undefined
}

/** Upper case and without the SSID 0, that is all; for names whose characters are known to be fit. */
export function canonicalKey(name: string): string {
  const upper = isUpperCase(name) ? name : name.toUpperCase()
  const dash = upper.length - 2
  return upper.charCodeAt(dash + 1) === ZERO && upper.charCodeAt(dash) === DASH ? upper.slice(0, dash) : upper
}

/** Looked at first: nearly every name on the network is, and turning one into upper case costs more than reading it. */
function isUpperCase(name: string): boolean {
  for (let at = 0; at < name.length; at++) if (name.charCodeAt(at) >= LOWER_A) return false
  return true
}

/** What stands before the dash: whose licence it is. */
export function baseCallsign(key: string): string {
  const dash = key.indexOf('-')
  return dash < 0 ? key : key.slice(0, dash)
}
