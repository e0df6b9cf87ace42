/**
 * JSON in UTF-8, one character per byte: `length` is in bytes. A string costs less than a buffer to store, cut and
 * join.
 */
export type JsonText = string

const BEYOND_ASCII = /[\u0080-\uffff]/

export function jsonText(value: unknown): JsonText {
  const text = JSON.stringify(value)
  return BEYOND_ASCII.test(text) ? Buffer.from(text).toString('latin1') : text
}

export function textOfBytes(bytes: Buffer): JsonText {
  return bytes.toString('latin1')
}

export function bytesOf(text: JsonText): Buffer {
  return Buffer.from(text, 'latin1')
}
