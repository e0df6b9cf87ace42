/**
 * A `bytea[]` in PostgreSQL's binary form, which `pg` sends as it is. As text each byte is two characters, and the
 * database waits while they are made.
 */
export function byteaArray(items: readonly Uint8Array[]): Buffer {
  const packed = Buffer.allocUnsafe(items.reduce((sum, { length }) => sum + 4 + length, 20))
  // One dimension, no nulls, of `bytea`, how many, numbered from 1.
  let at = [1, 0, 17, items.length, 1].reduce((offset, word) => packed.writeInt32BE(word, offset), 0)
  for (const item of items) {
    at = packed.writeInt32BE(item.length, at)
    packed.set(item, at)
    at += item.length
  }
  return packed
}
