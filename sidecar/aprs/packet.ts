import { isAlphanumeric } from './ascii.ts'
import { canonicalKey } from './station.ts'

/** A packet as APRS-IS delivers it (`SOURCE>DESTINATION,PATH:body`), or the innermost packet of a third-party frame. */
export interface Packet {
  /** Key of the sender: upper-case letters, digits and dashes, without an SSID of 0; at most 9 characters. */
  readonly source: string
  /** The sender exactly as received, including its letter case and an SSID of 0. Acks must use this spelling. */
  readonly sourceAsReceived: string
  /** The received line as Latin-1, so that each byte is one character. */
  readonly line: string
  /** Index in the line where the body begins. The body extends to the end of the line. */
  readonly bodyAt: number
}

const DASH = 0x2d
const ARROW = 0x3e
const CLOSING_BRACE = 0x7d

const MAX_SOURCE_LENGTH = 9
// Limit of third-party frames inside each other. Gateways wrap a packet once, but a hostile line of 4 KiB could contain
// hundreds of nested frames.
const MAX_DEPTH = 8

/**
 * Parses a line, in Latin-1 without line break; undefined if it is not a packet. Never throws. The body of a
 * third-party frame is `}` and another packet; the innermost is returned.
 */
export function parsePacket(line: string): Packet | undefined {
  let start = 0
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    const arrow = endOfSource(line, start)
    if (arrow < 0) return undefined
    const bodyAt = line.indexOf(':', arrow + 1) + 1
    // The line has no colon, or no destination before the colon.
    if (bodyAt <= arrow + 2) return undefined
    if (line.charCodeAt(bodyAt) !== CLOSING_BRACE) {
      const sourceAsReceived = line.slice(start, arrow)
      return { source: canonicalKey(sourceAsReceived), sourceAsReceived, line, bodyAt }
    }
    start = bodyAt + 1
  }
  return undefined
}

/** Returns the index of the `>` after the source that begins at `start`, or -1. */
function endOfSource(line: string, start: number): number {
  for (let i = start; i <= start + MAX_SOURCE_LENGTH; i++) {
    // Past the end of the line, `code` is NaN, which fails the test below.
    const code = line.charCodeAt(i)
    if (code === ARROW) return i > start ? i : -1
    // The source becomes the addressee of an ack. So it must not contain characters that end a line or a field.
    if (!isAlphanumeric(code) && (code !== DASH || i === start)) return -1
  }
  return -1
}
