import { hash } from 'node:crypto'
import { contentEnd, messageNumber } from '../../../aprs/sequence-id.ts'
import type { IncomingMessage } from '../../../messages/store.ts'

const BYTES = 16

/**
 * Returns a digest of 16 bytes, to recognize duplicates. Attackers cannot construct two messages with the same one. It
 * ignores the reply-ack of the message number, and blanks and control characters that end the text.
 */
export function messageIdentity({ from, to, seqId, text }: IncomingMessage): Buffer {
  const content = text.toString('latin1')
  const shown = content.slice(0, contentEnd(content))
  // Only `shown` can contain line breaks, so different messages never have equal inputs. All versions must agree on
  // this format.
  return hash('sha256', `${to}\n${from}\n${messageNumber(seqId)}\n${shown}`, 'buffer').subarray(0, BYTES)
}
