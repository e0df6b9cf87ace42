import type { StationKey } from '../../messages/store.ts'

/**
 * Longest line that sets a filter on a running connection, line end not counted. A longer one is ignored without a word
 * and the old filter stays. Measured on aprsc 2.1.21.
 */
export const MAX_FILTER_LINE_BYTES = 510

/** How much of an accepted filter the server repeats in its answer. Measured on aprsc 2.1.21. */
const CONFIRMED_BYTES = 255

const COMMAND = '#filter '

/** Room for the filter itself where it is changed on a running connection. */
export const IN_PLACE_BYTES = MAX_FILTER_LINE_BYTES - COMMAND.length

/** What a filter is made of. `b/` terms ask for the stations' own traffic as well. */
export interface FilterForm {
  readonly trackOutgoing: boolean
}

const MAX_CALL_LENGTH = 9

/**
 * The calls by which a station is asked for. Some software writes the SSID 0 out, and to servers `K1ABC-0` is not
 * `K1ABC`. Where there is no room for it, nobody can write it either.
 */
function callsOf(station: StationKey): readonly string[] {
  return isWrittenWithZero(station) ? [station, `${station}-0`] : [station]
}

function isWrittenWithZero(station: StationKey): boolean {
  return station.length + '-0'.length <= MAX_CALL_LENGTH && !station.includes('-')
}

/** Bytes that one more station adds to a filter. Keys are ASCII. */
export function stationBytes(station: StationKey, { trackOutgoing }: FilterForm): number {
  // A slash before each call. Without the calls themselves: all stations are weighed at each change.
  const bytes = isWrittenWithZero(station)
    ? 2 * station.length + '/'.length + '/-0'.length
    : station.length + '/'.length
  return bytes * (trackOutgoing ? 2 : 1)
}

/** Bytes of a filter without any station. */
export function emptyFilterBytes({ trackOutgoing }: FilterForm): number {
  return trackOutgoing ? 'g b'.length : 'g'.length
}

export function filterBytes(stations: Iterable<StationKey>, form: FilterForm): number {
  let bytes = emptyFilterBytes(form)
  for (const station of stations) bytes += stationBytes(station, form)
  return bytes
}

/**
 * The filter that asks for messages to `stations` and nothing else, in an order of its own, so that equal sets give
 * equal filters. Without stations it asks for messages to `login`, which that login gets anyway: servers confirm it
 * like any other filter, while what they make of an empty one is not documented.
 */
export function filterText(stations: ReadonlySet<StationKey>, login: string, { trackOutgoing }: FilterForm): string {
  if (stations.size === 0) return `g/${login}`
  const calls = [...stations].sort().flatMap(callsOf).join('/')
  return trackOutgoing ? `g/${calls} b/${calls}` : `g/${calls}`
}

/** The line that gives a running connection another filter. */
export function filterLine(filter: string): string {
  return `${COMMAND}${filter}`
}

/** Words by which a server would refuse a filter. A call in a filter stands between slashes and is no such word. */
const REFUSAL = /(?<![\w/-])(?:not|no|invalid|bad|error|ignored|refused|rejected|denied|failed)(?![\w/-])/i

/**
 * Whether a comment line of a server answers a `#filter` line. Servers use different words, and may name the terms in
 * another order: `# filter g/A active`, `# OK - Filter definition updated`.
 */
export function isAboutFilter(line: string): boolean {
  return /filter/i.test(line) && !REFUSAL.test(line)
}

/** The line by which aprsc confirms `filter`. */
export function confirmationLine(filter: string): string {
  return `# filter ${filter.slice(0, CONFIRMED_BYTES)} active`
}
