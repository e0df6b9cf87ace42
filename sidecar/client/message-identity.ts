import type { MessageRecord } from './wire/bodies.ts'

/**
 * Returns a value that all copies of one message share, whether they came over radio, APRS-IS or a sync. Equal values
 * within minutes mean the same message; later, a new message with the same text. Source: Message, identity for
 * duplicate detection.
 *
 * Of a number with a reply-ack (`MM}AA`) only `MM` counts, because `AA` changes between retransmissions. Trailing
 * blanks of the text and the SSID 0 do not count.
 */
export function messageIdentity(message: Pick<MessageRecord, 'from' | 'to' | 'seqId' | 'text'>): string {
  const { from, to, seqId, text } = message
  const brace = seqId.indexOf('}')
  const number = brace > 0 ? seqId.slice(0, brace) : seqId
  return JSON.stringify([station(from), station(to), number, withoutPadding(text)])
}

/** Radios and gateways pad with blanks, control characters and DEL. */
function withoutPadding(text: string): string {
  let end = text.length
  while (end > 0 && (text.charCodeAt(end - 1) <= 0x20 || text.charCodeAt(end - 1) === 0x7f)) end -= 1
  return text.slice(0, end)
}

function station(name: string): string {
  return name.toUpperCase().replace(/-0$/, '')
}
