/** UTF-16 units: what hosts have room for. */
const LONGEST = 255

/**
 * The name of a person: without line breaks, control and direction characters, cut between characters as people count them. The
 * joiners (U+200C, U+200D) stay: Persian and Indian names, and emoji, are other ones without them. Undefined: nothing to see is left.
 */
export function personalName(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  const clean = withoutControls(value, /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu)
  return /[^\s\u200c\u200d]/u.test(clean) ? cut(clean) : undefined
}

/** An address: joiners are nothing to be seen in one, and would make two of it. */
export function personalAddress(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  return cut(withoutControls(value, /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+/gu))
}

function withoutControls(text: string, controls: RegExp): string {
  return text.replace(controls, ' ').trim()
}

function cut(text: string): string | undefined {
  if (text.length <= LONGEST) return text || undefined
  let end = 0
  // What is far behind the end changes nothing before it, and may be very much.
  for (const { index, segment } of new Intl.Segmenter().segment(text.slice(0, 4 * LONGEST))) {
    if (index + segment.length > LONGEST) break
    end = index + segment.length
  }
  return text.slice(0, end).trim() || undefined
}
