import { hash } from 'node:crypto'
import { contentEnd, messageNumber } from '../../../aprs/sequence-id.ts'
import type { IncomingMessage } from '../../../messages/store.ts'

const BYTES = 16

/**
 * Returns a digest of 16 bytes that identifies a message, to recognize duplicates. An attacker cannot construct two
 * messages with the same digest. From a message number with a reply-ack, it includes only the part before the brace. It
 * ignores blanks and control characters at the end of the text.
 */
export function messageIdentity({ from, to, seqId, text }: IncomingMessage): Buffer {
  const content = text.toString('latin1')
  const shown = content.slice(0, contentEnd(content))
  // Only the text can contain line breaks, and it comes last. So different messages never have equal input to the hash.
  // The format must not change, because processes of all versions must agree.
  return hash('sha256', `${to}\n${from}\n${messageNumber(seqId)}\n${shown}`, 'buffer').subarray(0, BYTES)
}
