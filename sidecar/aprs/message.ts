import { isUtf8 } from 'node:buffer'
import type { Packet } from './packet.ts'
import { canonicalKey } from './station.ts'

/** What a message packet is to the station that it is addressed to: `to`, upper case, trailing blanks dropped. */
export type Message =
  | {
      readonly kind: 'message'
      readonly to: string
      /** The sender's text to the byte, the number and its `{` taken off; a view into the line's memory. */
      readonly text: Buffer
      /** What stands after the last `{`, trailing blanks dropped; empty when the message has no number. */
      readonly seqId: string
    }
  | { readonly kind: 'ack'; readonly to: string }
  | { readonly kind: 'rejection'; readonly to: string }
  /** Meant for the station's software. */
  | { readonly kind: 'not_for_operator'; readonly to: string; readonly why: 'telemetry_definition' | 'query' }

const BLANK = 0x20
const BRACE = 0x7b
const TILDE = 0x7e

const MAX_ADDRESSEE_LENGTH = 9
/**
 * One to five characters, each of at most 4 bytes in UTF-8. No control characters: the number goes into the ack that we
 * send, and one of them could end that line.
 */
const NUMBER = /^\P{Cc}{1,5}$/u
const MAX_NUMBER_BYTES = 20

/**
 * An ack or a rejection is the whole text: its word and a number, which has no blank. "acknowledged" is a message,
 * and so is "acked{12", for nobody asks to acknowledge an ack.
 */
const ACK = /^ack[\x21-\x7a\x7c-\x7e]{1,5} *$/
const REJECTION = /^rej[\x21-\x7a\x7c-\x7e]{1,5} *$/
const TELEMETRY_DEFINITION = /^(?:PARM|UNIT|EQNS|BITS)\./
// Only `?APRSH` takes something more, a callsign. Another text that merely begins like a query is somebody's.
const QUERY = /^\?(?:APRSH(?: .*)?|APRS[DMOPST] *|PING\? *)$/

/**
 * Reads a packet's body; undefined when it is no message. Never throws, whatever the bytes are.
 * The source matters for telemetry definitions, which a station addresses to itself.
 */
export function parseMessage({ source, body, line }: Omit<Packet, 'path'>): Message | undefined {
  if (body[0] !== ':') return undefined
  const colon = endOfAddressee(body)
  if (colon < 0) return undefined
  const to = canonicalKey(body.slice(1, endWithoutBlanks(body, colon)))
  if (to === '') return undefined

  const start = colon + 1
  const number = findNumber(body, start)
  const textEnd = number?.brace ?? body.length
  const other = noOperatorsText(body.slice(start, textEnd), number !== undefined, source === to)
  if (other) return { ...other, to }

  const bodyAt = line.length - body.length
  return {
    kind: 'message',
    to,
    text: line.subarray(bodyAt + start, bodyAt + textEnd),
    seqId: number?.seqId ?? '',
  }
}

/** Where the second colon stands: behind 9 characters, or earlier where the sender did not pad. */
function endOfAddressee(body: string): number {
  const colon = body.indexOf(':', 1)
  if (colon > MAX_ADDRESSEE_LENGTH + 1) return -1
  // ASCII only: `ß` in upper case is `SS`, and the message would reach somebody else.
  for (let i = 1; i < colon; i++) {
    const code = body.charCodeAt(i)
    if (code < BLANK || code > TILDE) return -1
  }
  return colon
}

function endWithoutBlanks(text: string, end: number): number {
  let last = end
  while (last > 0 && text.charCodeAt(last - 1) === BLANK) last--
  return last
}

/** The message number and where its `{` stands; undefined when what follows the last one is text, or there is none. */
function findNumber(body: string, start: number): { brace: number; seqId: string } | undefined {
  const end = endWithoutBlanks(body, body.length)
  const first = Math.max(start, end - MAX_NUMBER_BYTES - 1)
  let brace = end - 1
  let ascii = true
  for (; brace >= first; brace--) {
    const code = body.charCodeAt(brace)
    if (code === BRACE) break
    if (code > TILDE) ascii = false
  }
  if (brace < first) return undefined
  const tail = body.slice(brace + 1, end)
  const seqId = ascii ? tail : fromUtf8(tail)
  return seqId && NUMBER.test(seqId) ? { brace, seqId } : undefined
}

/** Only what is UTF-8 can be given back to the byte in an ack. */
function fromUtf8(latin1: string): string | undefined {
  const bytes = Buffer.from(latin1, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : undefined
}

/** What a text is that is no message for a person; undefined for one that is. */
function noOperatorsText(text: string, numbered: boolean, toItself: boolean) {
  if (toItself && TELEMETRY_DEFINITION.test(text))
    return { kind: 'not_for_operator', why: 'telemetry_definition' } as const
  // The first character spares nearly all texts the rest.
  switch (text[0]) {
    case 'a':
      return !numbered && ACK.test(text) ? ({ kind: 'ack' } as const) : undefined
    case 'r':
      return !numbered && REJECTION.test(text) ? ({ kind: 'rejection' } as const) : undefined
    case '?':
      return QUERY.test(text) ? ({ kind: 'not_for_operator', why: 'query' } as const) : undefined
    default:
      return undefined
  }
}

/**
 * A text as a message record shows it: UTF-8 or, where the bytes are not valid UTF-8, as a whole Latin-1, and then
 * `textBytes` has the bytes in base64.
 */
export function textOf(bytes: Buffer): { readonly text: string; readonly textBytes?: string } {
  if (isUtf8(bytes)) return { text: bytes.toString('utf8') }
  return { text: bytes.toString('latin1'), textBytes: bytes.toString('base64') }
}

/**
 * The line, without line break and to be sent as UTF-8, by which `to` acknowledges a message of `from`. The number is
 * given back as received, the reply-ack forms `MM}` and `MM}AA` too: senders without reply-acks know no other.
 */
export function ackLine({ from, to, seqId }: { from: string; to: string; seqId: string }): string {
  return `${to}>APRS,TCPIP*::${from.padEnd(MAX_ADDRESSEE_LENGTH)}:ack${seqId}`
}
