import { isUtf8 } from 'node:buffer'
import type { Packet } from './packet.ts'
import { braceOfSequenceId, contentEnd } from './sequence-id.ts'
import { canonicalKey } from './station.ts'

/** A parsed message packet. `to` is in upper case, without trailing blanks. */
export type Message =
  | {
      readonly kind: 'message'
      readonly to: string
      /** The sender's text without the sequence id and its `{`, as Latin-1 (one character per byte). */
      readonly text: string
      /** The sequence id after the last `{`, without trailing blanks; empty if the message has none. */
      readonly seqId: string
    }
  /**
   * The sender acknowledges (`ack`) or rejects (`rejection`) the message that `to` sent with the sequence id `seqId`.
   */
  | { readonly kind: 'ack'; readonly to: string; readonly seqId: string }
  | { readonly kind: 'rejection'; readonly to: string; readonly seqId: string }
  /** A message for the station's software, or an empty message. A person need not see it. */
  | { readonly kind: 'not_for_operator'; readonly to: string; readonly why: NotForOperator }

type NotForOperator = 'telemetry_definition' | 'query' | 'empty'

/** The addressee of a message packet, and where its text begins. */
export interface Addressee {
  /** The addressee in upper case, without trailing blanks; not empty. */
  readonly to: string
  /** Index in the line of the first character of the text. */
  readonly textAt: number
}

const BLANK = 0x20
const COLON = 0x3a
const QUESTION_MARK = 0x3f
const UPPER_B = 0x42
const UPPER_E = 0x45
const UPPER_P = 0x50
const UPPER_U = 0x55
const LOWER_A = 0x61
const LOWER_R = 0x72
const TILDE = 0x7e

const MAX_ADDRESSEE_LENGTH = 9
const ACK = 'ack'
const REJECTION = 'rej'
const ANSWERED = /^(?=[^}]*[0-9A-Z])[0-9A-Za-z]{1,5}(?:\}[0-9A-Za-z]{0,5})?$/
const TELEMETRY_DEFINITION = /^(?:PARM|UNIT|EQNS|BITS)\./
// Only `?APRSH` takes a parameter: a callsign, with or without a blank before it. A callsign has a digit, so `?APRSHow`
// is ordinary text.
const QUERY = /^\?(?:APRSH(?: .*|(?=[A-Z]*\d)[A-Z\d-]{1,9} *)?|APRS[DMOPST] *|PING\? *)$/

/**
 * Returns the addressee of a packet; undefined if it is not a message. Never throws. The receiver looks it up before
 * parsing the text, because most messages are for unregistered stations.
 */
export function addresseeOf({ line, bodyAt }: Pick<Packet, 'line' | 'bodyAt'>): Addressee | undefined {
  if (line.charCodeAt(bodyAt) !== COLON) return undefined
  const start = bodyAt + 1
  // The index after the last non-blank character of the addressee.
  let end = start
  // The second colon follows after 9 characters, or earlier if the sender did not pad the addressee.
  for (let index = start; index <= start + MAX_ADDRESSEE_LENGTH; index++) {
    const code = line.charCodeAt(index)
    if (code === COLON) {
      const to = canonicalKey(line.slice(start, end))
      return to === '' ? undefined : { to, textAt: index + 1 }
    }
    // Only printable ASCII: the upper case of `ß` is `SS`, which is another addressee. NaN (past the end) fails too.
    if (!(code >= BLANK && code <= TILDE)) return undefined
    if (code !== BLANK) end = index + 1
  }
  return undefined
}

/** Parses a message packet. Never throws, even on malformed input. */
export function parseMessage(line: string, { to, textAt }: Addressee): Message {
  const end = contentEnd(line, textAt)
  const brace = braceOfSequenceId(line, textAt, end)
  const numbered = brace >= 0
  const classified = notForOperator(line, textAt, numbered ? brace : end, numbered)
  if (classified) return { ...classified, to }
  return {
    kind: 'message',
    to,
    text: numbered ? line.slice(textAt, brace) : line.slice(textAt),
    seqId: numbered ? line.slice(brace + 1, end) : '',
  }
}

/**
 * Classifies the text from `start` to `end`; undefined if it is for a person. The first character nearly always
 * decides.
 */
function notForOperator(line: string, start: number, end: number, numbered: boolean) {
  if (start === end) return numbered ? undefined : software('empty')
  switch (line.charCodeAt(start)) {
    case LOWER_A:
      return numbered ? undefined : answer('ack', ACK, line.slice(start, end))
    case LOWER_R:
      return numbered ? undefined : answer('rejection', REJECTION, line.slice(start, end))
    case QUESTION_MARK:
      return QUERY.test(line.slice(start, end)) ? software('query') : undefined
    case UPPER_P:
    case UPPER_U:
    case UPPER_E:
    case UPPER_B:
      // The sender need not be the addressee: aprsc drops telemetry definitions from other senders, but udpgate4 passes
      // them on.
      return TELEMETRY_DEFINITION.test(line.slice(start, end)) ? software('telemetry_definition') : undefined
    default:
      return undefined
  }
}

function software(why: NotForOperator) {
  return { kind: 'not_for_operator', why } as const
}

/**
 * Parses an ack or a rejection: `ack` or `rej` and a sequence id (APRS 1.0.1, chapter 14), but not a word such as
 * "acked". `text` has no sequence id of its own, because no sender requests an ack of an ack.
 */
function answer(kind: 'ack' | 'rejection', word: string, text: string) {
  const seqId = text.slice(word.length)
  return text.startsWith(word) && ANSWERED.test(seqId) ? { kind, seqId } : undefined
}

/**
 * Decodes the text of a message for the API. Bytes that are not valid UTF-8 are decoded as Latin-1, and `textBytes` has
 * the same bytes in base64.
 */
export function textOf(bytes: Buffer): { readonly text: string; readonly textBytes?: string } {
  if (isUtf8(bytes)) return { text: bytes.toString('utf8') }
  return { text: bytes.toString('latin1'), textBytes: bytes.toString('base64') }
}

/**
 * Returns the packet line with which `to` acknowledges a message of `from`, without a line break. `from` and `seqId`
 * must be as received, because servers distinguish `W2AW-0` from `W2AW`, and some senders need the whole id `MM}AA`.
 */
export function ackLine({ from, to, seqId }: { from: string; to: string; seqId: string }): string {
  return `${to}>APRS,TCPIP*::${from.padEnd(MAX_ADDRESSEE_LENGTH)}:${ACK}${seqId}`
}
