import type { StationKey } from '../../messages/store.ts'

/**
 * Maximum length of a `#filter` line in bytes, without line end. Servers silently ignore a longer one. Measured on
 * aprsc 2.1.21.
 */
export const MAX_FILTER_LINE_BYTES = 510

/** Number of bytes of an accepted filter that the server repeats in its answer. Measured on aprsc 2.1.21. */
const CONFIRMED_BYTES = 255

const COMMAND = '#filter '

/** Maximum length, in bytes, of a filter that can be set on a running connection. */
export const IN_PLACE_BYTES = MAX_FILTER_LINE_BYTES - COMMAND.length

/** The form of a filter. With `trackOutgoing`, `b/` terms also request the packets that the stations send. */
export interface FilterForm {
  readonly trackOutgoing: boolean
}

const MAX_CALLSIGN_LENGTH = 9

/**
 * Returns the spellings of a station in a filter. Some software writes `K1ABC-0` for `K1ABC`, and servers distinguish
 * them.
 */
function spellingsOf(station: StationKey): readonly string[] {
  return isWrittenWithZero(station) ? [station, `${station}-0`] : [station]
}

/** Whether a name is a wildcard for several stations, such as `K1ABC*`. */
function isWildcard(station: StationKey): boolean {
  return station.endsWith('*')
}

function isWrittenWithZero(station: StationKey): boolean {
  return station.length + '-0'.length <= MAX_CALLSIGN_LENGTH && !station.includes('-') && !isWildcard(station)
}

/** Returns how many bytes one more station adds to a filter. Station keys are ASCII, so a character is a byte. */
export function stationBytes(station: StationKey, { trackOutgoing }: FilterForm): number {
  // A slash precedes each spelling. Each filter change computes this for all stations, so it builds no text.
  const bytes = isWrittenWithZero(station)
    ? 2 * station.length + '/'.length + '/-0'.length
    : station.length + '/'.length
  return bytes * (trackOutgoing && !isWildcard(station) ? 2 : 1)
}

/** Returns the length, in bytes, of a filter without any station. */
export function emptyFilterBytes({ trackOutgoing }: FilterForm): number {
  return trackOutgoing ? 'g b'.length : 'g'.length
}

export function filterBytes(stations: Iterable<StationKey>, form: FilterForm): number {
  let bytes = emptyFilterBytes(form)
  for (const station of stations) bytes += stationBytes(station, form)
  return bytes
}

/**
 * Returns the filter for messages to `stations` only. Equal sets give equal filters. Without stations, it requests
 * messages to `login`, because the effect of an empty filter is not documented.
 */
export function filterText(stations: ReadonlySet<StationKey>, login: string, { trackOutgoing }: FilterForm): string {
  if (stations.size === 0) return `g/${login}`
  const names = [...stations].sort()
  const addressees = `g/${names.flatMap(spellingsOf).join('/')}`
  if (!trackOutgoing) return addressees
  // Wildcards get no `b/` term, because a user tracks the packets of one station and not those of its other SSIDs.
  const sources = names.filter((name) => !isWildcard(name)).flatMap(spellingsOf)
  return sources.length > 0 ? `${addressees} b/${sources.join('/')}` : addressees
}

/** Returns the line that changes the filter of a running connection. */
export function filterLine(filter: string): string {
  return `${COMMAND}${filter}`
}

const REFUSING_WORDS = [
  ...['not', 'no', 'cannot', "can't", 'unable', 'invalid', 'unknown', 'unsupported', 'bad', 'error'],
  ...['ignored', 'refused', 'rejected', 'denied', 'failed'],
]
/** Matches a word that refuses a filter, but not a callsign such as `NO` in a repeated filter (after a slash). */
const REFUSAL = new RegExp(`(?<![\\w/-])(?:${REFUSING_WORDS.join('|')})(?![\\w/-])`, 'i')

/**
 * Whether a comment line accepts a `#filter` line. Servers' wordings vary: `# filter g/A active`, `# OK - Filter
 * definition updated`.
 */
export function acceptsFilter(line: string): boolean {
  return /filter/i.test(line) && !REFUSAL.test(line)
}

/** Returns the comment line that the server aprsc sends to confirm `filter`. */
export function confirmationLine(filter: string): string {
  return `# filter ${filter.slice(0, CONFIRMED_BYTES)} active`
}
