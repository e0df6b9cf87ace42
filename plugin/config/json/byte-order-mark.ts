/**
 * Removes the byte order mark that Windows editors write at the start of a file. JSON does not allow one (RFC 8259,
 * section 8.1).
 */
export function withoutByteOrderMark(text: string): string {
  return text.startsWith('\ufeff') ? text.slice(1) : text
}
