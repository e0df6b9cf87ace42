import type { MessageRecord } from './wire/bodies.ts'

/**
 * What copies of one message have in common, however they came: two within minutes that have it are one message. Later
 * it may be sent again, and means another one. Source: Message, identity for duplicate detection.
 *
 * Of a number with a reply-ack (`MM}AA`) only `MM` counts, for `AA` changes between retransmissions; blanks at the end
 * of the text do not count, nor does the SSID 0.
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

function station(call: string): string {
  return call.toUpperCase().replace(/-0$/, '')
}
