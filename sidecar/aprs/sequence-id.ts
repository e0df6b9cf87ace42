/**
 * What a sequence id is (APRS 1.0.1, chapter 14: the message number): 1 to 5 visible ASCII characters without blanks.
 *
 * Texts are Latin-1, a character a byte.
 */
const MAX_LENGTH = 5

const BLANK = 0x20
const BRACE = 0x7b
const TILDE = 0x7e
const DELETE = 0x7f

/**
 * Where the content of a line ends: neither blanks nor control characters at its end count. Radios pad with blanks, and
 * gateways hand on what ended the packet on the air, such as NUL.
 */
export function contentEnd(text: string, start = 0): number {
  let end = text.length
  while (end > start && isPadding(text.charCodeAt(end - 1))) end--
  return end
}

/** Where the `{` stands behind which a sequence id goes to `end`; -1 when what follows the last `{` from `start` on is text. */
export function braceOfSequenceId(text: string, start: number, end: number): number {
  const first = Math.max(start, end - MAX_LENGTH - 1)
  for (let at = end - 1; at >= first; at--) {
    const code = text.charCodeAt(at)
    if (code === BRACE) return at < end - 1 ? at : -1
    if (!isVisible(code)) return -1
  }
  return -1
}

/**
 * What of a sequence id says which message it is. A reply-ack, `MM}` or `MM}AA`, acknowledges a message of the other side by the
 * way: `AA` is that one's number, and changes between the retransmissions of this one.
 */
export function messageNumber(seqId: string): string {
  const brace = seqId.indexOf('}')
  return brace > 0 ? seqId.slice(0, brace) : seqId
}

function isVisible(code: number): boolean {
  return code > BLANK && code <= TILDE
}

function isPadding(code: number): boolean {
  return code <= BLANK || code === DELETE
}
