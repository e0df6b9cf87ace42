import type { MessageRecord } from './wire/bodies.ts'

/**
 * Returns a value that is equal for all copies of a message, from radio, APRS-IS or a sync. After some minutes, an
 * equal value is a new message. Source: section Message of the specification.
 *
 * Ignores blanks at the end, the SSID 0, and `AA` in a reply-ack `MM}AA`, which changes in retransmissions.
 */
export function messageIdentity(message: Pick<MessageRecord, 'from' | 'to' | 'seqId' | 'text'>): string {
  const { from, to, seqId, text } = message
  const brace = seqId.indexOf('}')
  const number = brace > 0 ? seqId.slice(0, brace) : seqId
  return JSON.stringify([station(from), station(to), number, withoutPadding(text)])
}

/** Strips the blanks, control characters and DEL that radios and gateways append. */
function withoutPadding(text: string): string {
  let end = text.length
  while (end > 0 && (text.charCodeAt(end - 1) <= 0x20 || text.charCodeAt(end - 1) === 0x7f)) end -= 1
  return text.slice(0, end)
}

function station(name: string): string {
  return name.toUpperCase().replace(/-0$/, '')
}
