/**
 * Returns the text of a file without the byte order mark that editors of Windows put before it. JSON has none (RFC
 * 8259, section 8.1).
 */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}
