/** A parameter of a statement. An array becomes a PostgreSQL array. Times are in milliseconds since 1970. */
export type SqlValue = string | number | boolean | Buffer | null | readonly SqlValue[]

/** Replaces each NUL character, which PostgreSQL does not allow in text, by U+FFFD. */
export function withoutNul(text: string): string {
  return text.replaceAll('\0', '\uFFFD')
}

/** Encodes a `bytea[]` in PostgreSQL's binary format. As text, it would be twice as long, and its encoding slow. */
export function byteaArray(items: readonly Uint8Array[]): Buffer {
  const packed = Buffer.allocUnsafe(items.reduce((sum, { length }) => sum + 4 + length, 20))
  // The header of the array: one dimension, no nulls, element type `bytea` (17), number of items, first index 1.
  let offset = [1, 0, 17, items.length, 1].reduce((end, word) => packed.writeInt32BE(word, end), 0)
  for (const item of items) {
    offset = packed.writeInt32BE(item.length, offset)
    packed.set(item, offset)
    offset += item.length
  }
  return packed
}
