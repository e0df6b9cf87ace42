/** A value of a statement. Arrays become PostgreSQL's arrays; times are in milliseconds since 1970. */
export type SqlValue = string | number | boolean | Buffer | null | readonly SqlValue[]

/**
 * Replaces NUL, which PostgreSQL's text does not allow, by what UTF-8 makes of half a surrogate pair. No sender means
 * either.
 */
export function withoutNul(text: string): string {
  return text.replaceAll('\0', '\uFFFD')
}

/**
 * Encodes a `bytea[]` in PostgreSQL's binary form, which `pg` sends as it is. As text, each byte is two characters, and
 * the database waits while they are made.
 */
export function byteaArray(items: readonly Uint8Array[]): Buffer {
  const packed = Buffer.allocUnsafe(items.reduce((sum, { length }) => sum + 4 + length, 20))
  // One dimension, no nulls, of type `bytea`, the number of items, numbered from 1.
  let offset = [1, 0, 17, items.length, 1].reduce((end, word) => packed.writeInt32BE(word, end), 0)
  for (const item of items) {
    offset = packed.writeInt32BE(item.length, offset)
    packed.set(item, offset)
    offset += item.length
  }
  return packed
}
