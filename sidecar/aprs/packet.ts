import { isAlphanumeric } from './ascii.ts'
import { canonicalKey } from './station.ts'

/** A packet as APRS-IS delivers it (`SOURCE>DESTINATION,PATH:body`), or the innermost one of a third-party frame. */
export interface Packet {
  /** Who sent it: upper case, without the SSID 0, of letters, digits and dashes, at most 9 characters. */
  readonly source: string
  /** The same as it was received, in its letter case and with its SSID 0: who answers has to write it like this. */
  readonly sourceAsReceived: string
  /** The line that it was read from, as Latin-1, which makes each byte one character. */
  readonly line: string
  /** Where in the line the body begins, which goes to its end. */
  readonly bodyAt: number
}

const DASH = 0x2d
const ARROW = 0x3e
const CLOSING_BRACE = 0x7d

const MAX_SOURCE_LENGTH = 9
// Gateways wrap once. A line of 4 KiB could hold hundreds of headers, and none of those is anybody's message.
const MAX_DEPTH = 8

/**
 * Reads one line, as Latin-1 and without its line break; undefined when it is no packet. Never throws, whatever the
 * bytes are. In a third-party frame (`}` and a whole packet) the inner source is the sender, in nested ones the
 * innermost.
 */
export function parsePacket(line: string): Packet | undefined {
  let start = 0
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    const arrow = endOfSource(line, start)
    if (arrow < 0) return undefined
    const bodyAt = line.indexOf(':', arrow + 1) + 1
    // None at all, or nothing between the two.
    if (bodyAt <= arrow + 2) return undefined
    if (line.charCodeAt(bodyAt) !== CLOSING_BRACE) {
      const sourceAsReceived = line.slice(start, arrow)
      return { source: canonicalKey(sourceAsReceived), sourceAsReceived, line, bodyAt }
    }
    start = bodyAt + 1
  }
  return undefined
}

/** Where the `>` behind a source stands that begins at `start`; -1 when there is none. */
function endOfSource(line: string, start: number): number {
  for (let i = start; i <= start + MAX_SOURCE_LENGTH; i++) {
    // NaN behind the end, which is no character of a source either.
    const code = line.charCodeAt(i)
    if (code === ARROW) return i > start ? i : -1
    // Strict, because the source goes into the acks that we send: no character of it may end a line or a field.
    if (!isAlphanumeric(code) && (code !== DASH || i === start)) return -1
  }
  return -1
}
