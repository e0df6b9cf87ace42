import { canonicalKey } from './station.ts'

/** A packet as APRS-IS delivers it (`SOURCE>DESTINATION,PATH:body`), or the innermost one of a third-party frame. */
export interface Packet {
  /** Who sent it: upper case, without the SSID 0, of letters, digits and dashes, at most 9 characters. */
  readonly source: string
  /** The same as it was received, in its letter case and with its SSID 0: who answers has to write it like this. */
  readonly sourceAsReceived: string
  /** Destination, digipeaters and q construct, as they stand between `>` and `:`. */
  readonly path: string
  /** Everything behind the `:` as Latin-1, which makes each byte one character. */
  readonly body: string
  /** The line that it was read from; the body's bytes are its end. */
  readonly line: Buffer
}

const DASH = 0x2d
const ARROW = 0x3e

const MAX_SOURCE_LENGTH = 9
// Gateways wrap once. A line of 4 KiB could hold hundreds of headers, and none of those is anybody's message.
const MAX_DEPTH = 8

/**
 * Reads one line without its line break; undefined when it is no packet. Never throws, whatever the bytes are.
 * In a third-party frame (`}` and a whole packet) the inner source is the sender, in nested ones the innermost.
 */
export function parsePacket(line: Buffer): Packet | undefined {
  // Decoded once: measured, a call into Buffer costs as much for 9 bytes as for 90, and cutting a string next to nothing.
  const text = line.toString('latin1')
  let start = 0
  for (let depth = 0; depth <= MAX_DEPTH; depth++) {
    const arrow = endOfSource(text, start)
    if (arrow < 0) return undefined
    const colon = text.indexOf(':', arrow + 1)
    if (colon <= arrow + 1) return undefined
    if (text[colon + 1] !== '}') {
      const sourceAsReceived = text.slice(start, arrow)
      return {
        source: canonicalKey(sourceAsReceived),
        sourceAsReceived,
        path: text.slice(arrow + 1, colon),
        body: text.slice(colon + 1),
        line,
      }
    }
    start = colon + 2
  }
  return undefined
}

/** Where the `>` behind a source stands that begins at `start`; -1 when there is none. */
function endOfSource(text: string, start: number): number {
  for (let i = start; i <= start + MAX_SOURCE_LENGTH; i++) {
    // NaN behind the end, which is no character of a source either.
    const code = text.charCodeAt(i)
    if (code === ARROW) return i > start ? i : -1
    // Strict, because the source goes into the acks that we send: no character of it may end a line or a field.
    if (!isAlphanumeric(code) && (code !== DASH || i === start)) return -1
  }
  return -1
}

function isAlphanumeric(code: number): boolean {
  const lowered = code | 0x20
  return (lowered >= 0x61 && lowered <= 0x7a) || (code >= 0x30 && code <= 0x39)
}
