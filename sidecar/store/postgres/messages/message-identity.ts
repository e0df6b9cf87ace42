import { hash } from 'node:crypto'
import { contentEnd, messageNumber } from '../../../aprs/sequence-id.ts'
import type { IncomingMessage } from '../../../messages/store.ts'

const BYTES = 16

/**
 * A digest of 16 bytes that only equal messages share, because no sender can find two messages with one digest. For a
 * reply-ack, only the number before the brace counts. Blanks and control characters at the end of the text do not.
 */
export function messageIdentity({ from, to, seqId, text }: IncomingMessage): Buffer {
  const content = text.toString('latin1')
  const shown = content.slice(0, contentEnd(content))
  // The other parts have no line breaks. The encoding is fixed, so that all processes agree.
  return hash('sha256', `${to}\n${from}\n${messageNumber(seqId)}\n${shown}`, 'buffer').subarray(0, BYTES)
}
