import { isUtf8 } from 'node:buffer'
import type { Packet } from './packet.ts'
import { braceOfSequenceId, contentEnd, endsInSequenceId } from './sequence-id.ts'
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
  /** `seqId` is that of the message which is acknowledged or rejected. */
  | { readonly kind: 'ack'; readonly to: string; readonly seqId: string }
  | { readonly kind: 'rejection'; readonly to: string; readonly seqId: string }
  /** Meant for the station's software. */
  | { readonly kind: 'not_for_operator'; readonly to: string; readonly why: 'telemetry_definition' | 'query' }

const BLANK = 0x20
const TILDE = 0x7e

const MAX_ADDRESSEE_LENGTH = 9
const ACK = 'ack'
const REJECTION = 'rej'
const TELEMETRY_DEFINITION = /^(?:PARM|UNIT|EQNS|BITS)\./
// Only `?APRSH` takes something more, a callsign. Another text that merely begins like a query is somebody's.
const QUERY = /^\?(?:APRSH(?: .*)?|APRS[DMOPST] *|PING\? *)$/

/**
 * Reads a packet's body; undefined when it is no message. Never throws, whatever the bytes are.
 * The source matters for telemetry definitions, which a station addresses to itself.
 */
export function parseMessage({ source, body, line }: Pick<Packet, 'source' | 'body' | 'line'>): Message | undefined {
  if (body[0] !== ':') return undefined
  const colon = endOfAddressee(body)
  if (colon < 0) return undefined
  const to = canonicalKey(body.slice(1, endWithoutBlanks(body, colon)))
  if (to === '') return undefined

  const start = colon + 1
  const end = contentEnd(body, start)
  const brace = braceOfSequenceId(body, start, end)
  const numbered = brace >= 0
  const other = noOperatorsText(body.slice(start, numbered ? brace : end), numbered, source === to)
  if (other) return { ...other, to }

  const bodyAt = line.length - body.length
  return {
    kind: 'message',
    to,
    text: line.subarray(bodyAt + start, numbered ? bodyAt + brace : line.length),
    seqId: numbered ? body.slice(brace + 1, end) : '',
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

/** What a text is that is no message for a person; undefined for one that is. */
function noOperatorsText(text: string, numbered: boolean, toItself: boolean) {
  if (toItself && TELEMETRY_DEFINITION.test(text))
    return { kind: 'not_for_operator', why: 'telemetry_definition' } as const
  // The first character spares nearly all texts the rest.
  switch (text[0]) {
    case 'a':
      return numbered ? undefined : answer('ack', ACK, text)
    case 'r':
      return numbered ? undefined : answer('rejection', REJECTION, text)
    case '?':
      return QUERY.test(text) ? ({ kind: 'not_for_operator', why: 'query' } as const) : undefined
    default:
      return undefined
  }
}

/**
 * An ack or a rejection is the whole text: its word and a sequence id. "acknowledged" is a message, and so is "acked{12", for
 * nobody asks to acknowledge an ack.
 */
function answer(kind: 'ack' | 'rejection', word: string, text: string) {
  if (!text.startsWith(word) || !endsInSequenceId(text, word.length)) return undefined
  return { kind, seqId: text.slice(word.length) }
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
