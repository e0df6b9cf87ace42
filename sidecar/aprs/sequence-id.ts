import { isAlphanumeric } from './ascii.ts'

/**
 * Lengths of a sequence id (APRS 1.0.1, chapter 14: message numbers). A reply-ack adds `}` and the number that it
 * acknowledges. The reply-ack specification allows two characters on each side of `}`, but some software sends five:
 * `text{3677}67392`.
 */
const MAX_NUMBER_LENGTH = 5
const MAX_LENGTH = MAX_NUMBER_LENGTH + '}'.length + MAX_NUMBER_LENGTH

const BLANK = 0x20
const OPENING_BRACE = 0x7b
const CLOSING_BRACE = 0x7d
const DELETE = 0x7f

/**
 * Returns the index of a line's padding: blanks from radios, or the control characters, such as NUL or CR, that ended a
 * packet on the air.
 */
export function contentEnd(text: string, start = 0): number {
  let end = text.length
  while (end > start && isPadding(text.charCodeAt(end - 1))) end--
  return end
}

/**
 * Finds the `{` of the sequence id that ends at index `end`.
 *
 * @returns the index of the `{`, or -1 if the text ends without a sequence id
 */
export function braceOfSequenceId(text: string, start: number, end: number): number {
  const first = Math.max(start, end - MAX_LENGTH - 1)
  let closing = end
  for (let index = end - 1; index >= first; index--) {
    const code = text.charCodeAt(index)
    if (code === OPENING_BRACE) {
      const length = closing - index - 1
      return length >= 1 && length <= MAX_NUMBER_LENGTH ? index : -1
    }
    if (code === CLOSING_BRACE) {
      // Not a sequence id: there are two `}`, or the text after the `}` is longer than a message number.
      if (closing < end || end - index - 1 > MAX_NUMBER_LENGTH) return -1
      closing = index
    } else if (!isAlphanumeric(code)) return -1
  }
  return -1
}

/**
 * Returns the part of a sequence id that identifies its message: `MM` of a reply-ack `MM}AA`. `AA` may change in
 * retransmissions.
 */
export function messageNumber(seqId: string): string {
  const brace = seqId.indexOf('}')
  return brace > 0 ? seqId.slice(0, brace) : seqId
}

function isPadding(code: number): boolean {
  return code <= BLANK || code === DELETE
}
