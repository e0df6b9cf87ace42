import { isUtf8 } from 'node:buffer'
import type { Packet } from './packet.ts'
import { braceOfSequenceId, contentEnd } from './sequence-id.ts'
import { canonicalKey } from './station.ts'

/** What a message packet is to the station that it is addressed to: `to`, upper case, trailing blanks dropped. */
export type Message =
  | {
      readonly kind: 'message'
      readonly to: string
      /** The sender's text to the byte, each one character, the number and its `{` taken off. */
      readonly text: string
      /** What stands after the last `{`, trailing blanks dropped; empty when the message has no number. */
      readonly seqId: string
    }
  /** `seqId` is that of the message which is acknowledged or rejected. */
  | { readonly kind: 'ack'; readonly to: string; readonly seqId: string }
  | { readonly kind: 'rejection'; readonly to: string; readonly seqId: string }
  /** Meant for the station's software. */
  | { readonly kind: 'not_for_operator'; readonly to: string; readonly why: 'telemetry_definition' | 'query' }

/** Whom a message packet is for. */
export interface Addressee {
  /** Upper case, trailing blanks dropped, not empty. */
  readonly to: string
  /** Where in the line the text begins. */
  readonly textAt: number
}

const BLANK = 0x20
const COLON = 0x3a
const QUESTION_MARK = 0x3f
const LOWER_A = 0x61
const LOWER_R = 0x72
const TILDE = 0x7e

const MAX_ADDRESSEE_LENGTH = 9
const ACK = 'ack'
const REJECTION = 'rej'
const ANSWERED = /^(?=[^}]*[0-9A-Z])[0-9A-Za-z]{1,5}(?:\}[0-9A-Za-z]{0,2})?$/
const TELEMETRY_DEFINITION = /^(?:PARM|UNIT|EQNS|BITS)\./
// Only `?APRSH` takes something more, a callsign. Another text that merely begins like a query is somebody's.
const QUERY = /^\?(?:APRSH(?: .*)?|APRS[DMOPST] *|PING\? *)$/

/**
 * Whom a packet is addressed to; undefined when it is no message. Never throws, whatever the bytes are. Read before all else,
 * since most of what comes in is for nobody here.
 */
export function addresseeOf({ line, bodyAt }: Pick<Packet, 'line' | 'bodyAt'>): Addressee | undefined {
  if (line.charCodeAt(bodyAt) !== COLON) return undefined
  const start = bodyAt + 1
  // Behind the last character that is no blank.
  let end = start
  // The second colon stands behind 9 characters, or earlier where the sender did not pad.
  for (let at = start; at <= start + MAX_ADDRESSEE_LENGTH; at++) {
    const code = line.charCodeAt(at)
    if (code === COLON) {
      const to = canonicalKey(line.slice(start, end))
      return to === '' ? undefined : { to, textAt: at + 1 }
    }
    // ASCII only: `ß` in upper case is `SS`, and the message would reach somebody else. NaN behind the end is neither.
    if (!(code >= BLANK && code <= TILDE)) return undefined
    if (code !== BLANK) end = at + 1
  }
  return undefined
}

/**
 * Reads what is addressed to somebody. Never throws, whatever the bytes are.
 * The source matters for telemetry definitions, which a station addresses to itself.
 */
export function parseMessage({ source, line }: Pick<Packet, 'source' | 'line'>, { to, textAt }: Addressee): Message {
  const end = contentEnd(line, textAt)
  const brace = braceOfSequenceId(line, textAt, end)
  const numbered = brace >= 0
  const other = noOperatorsText(line, textAt, numbered ? brace : end, numbered, source === to)
  if (other) return { ...other, to }
  return {
    kind: 'message',
    to,
    text: numbered ? line.slice(textAt, brace) : line.slice(textAt),
    seqId: numbered ? line.slice(brace + 1, end) : '',
  }
}

/** What a text from `start` to `end` is that is no message for a person; undefined for one that is. */
function noOperatorsText(line: string, start: number, end: number, numbered: boolean, toItself: boolean) {
  if (toItself && TELEMETRY_DEFINITION.test(line.slice(start, end)))
    return { kind: 'not_for_operator', why: 'telemetry_definition' } as const
  // The first character spares nearly all texts the rest.
  switch (line.charCodeAt(start)) {
    case LOWER_A:
      return numbered ? undefined : answer('ack', ACK, line.slice(start, end))
    case LOWER_R:
      return numbered ? undefined : answer('rejection', REJECTION, line.slice(start, end))
    case QUESTION_MARK:
      return QUERY.test(line.slice(start, end)) ? ({ kind: 'not_for_operator', why: 'query' } as const) : undefined
    default:
      return undefined
  }
}

/**
 * An ack or a rejection is the whole text: its word and a number of letters and digits, or a reply-ack's two (APRS 1.0.1, chapter 14). With
 * small letters alone it is a word of somebody's, such as "acked" or "rejected"; and so is "acked{12", for nobody asks to acknowledge an ack.
 */
function answer(kind: 'ack' | 'rejection', word: string, text: string) {
  const seqId = text.slice(word.length)
  return text.startsWith(word) && ANSWERED.test(seqId) ? { kind, seqId } : undefined
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
 * The line, without line break, by which `to` acknowledges a message of `from`. Both the call of the sender and the number are
 * given back as received: to servers `W2AW-0` is not `W2AW`, and senders without reply-acks know no number but the whole `MM}AA`.
 */
export function ackLine({ from, to, seqId }: { from: string; to: string; seqId: string }): string {
  return `${to}>APRS,TCPIP*::${from.padEnd(MAX_ADDRESSEE_LENGTH)}:${ACK}${seqId}`
}
