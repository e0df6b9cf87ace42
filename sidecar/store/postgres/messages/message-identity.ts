import { hash } from 'node:crypto'
import { contentEnd, messageNumber } from '../../../aprs/sequence-id.ts'
import type { IncomingMessage } from '../../../messages/store.ts'

const BYTES = 16

/**
 * What equal messages have in common, and others do not: 16 bytes. Of a reply-ack only the number before its brace
 * counts, of a text not the blanks and control characters at its end. So many bytes that nobody finds two messages that
 * share them.
 */
export function messageIdentity({ from, to, seqId, text }: IncomingMessage): Buffer {
  const content = text.toString('latin1')
  const shown = content.slice(0, contentEnd(content))
  // Line breaks are in none of the others. Both are encoded alike for all, so that all processes agree.
  return hash('sha256', `${to}\n${from}\n${messageNumber(seqId)}\n${shown}`, 'buffer').subarray(0, BYTES)
}
