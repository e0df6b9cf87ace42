import type { MessageRecord } from './wire/bodies.ts'

/**
 * Returns a value that is equal for all copies of a message, whether they arrived over radio, by APRS-IS or in a sync.
 * If two equal values arrive within minutes, they are the same message; later, the second is a new message with the
 * same text. Source: section Message of the specification.
 *
 * A message number with a reply-ack has the form `MM}AA`. Its `AA` is ignored, because it changes between
 * retransmissions. Blanks at the end of the text and the SSID 0 are ignored too.
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
