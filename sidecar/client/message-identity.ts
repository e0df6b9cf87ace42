import type { MessageRecord } from '../wire/bodies.ts'

/**
 * What copies of one message have in common, however they came: two within minutes that have it are one message. Later it may be sent
 * again, and means another one. Source: Message, identity for duplicate detection.
 *
 * Of a number with a reply-ack (`MM}AA`) only `MM` counts, for `AA` changes between retransmissions; blanks at the end of the text do not
 * count, nor does the SSID 0.
 */
export function messageIdentity(message: Pick<MessageRecord, 'from' | 'to' | 'seqId' | 'text'>): string {
  const { from, to, seqId, text } = message
  const brace = seqId.indexOf('}')
  const number = brace > 0 ? seqId.slice(0, brace) : seqId
  return JSON.stringify([station(from), station(to), number, text.replace(PADDING, '')])
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: radios and gateways pad with them.
const PADDING = /[\u0000- \u007f]+$/

function station(call: string): string {
  return call.toUpperCase().replace(/-0$/, '')
}
