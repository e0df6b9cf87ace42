/**
 * JSON as it goes over the wire, in UTF-8, one character for each byte: so its length is the body's, and pieces of it
 * can be kept, cut and joined as strings, which takes less than with buffers.
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
