import type { IncomingMessage } from 'node:http'
import { unzipSync } from 'node:zlib'

/** Of an error's body, compressed or not; the whole of one has some hundred bytes. */
const MAX_BYTES = 16_384

/** The codes in the details of an error of FCM. `firebase-admin` reads the same answer, and keeps them to itself. */
export interface FcmErrorCodes {
  /** To be asked once the whole answer is there. False of one that is not in words of FCM. */
  includes(code: string): boolean
}

/** Reads along with whoever reads `answer`, whose first byte has not been read yet. */
export function readErrorCodes(answer: IncomingMessage): FcmErrorCodes {
  // The client takes it out of the headers.
  const isCompressed = answer.headers['content-encoding'] !== undefined
  const chunks: Buffer[] = []
  let size = 0
  answer.on('data', (chunk: Buffer) => {
    size += chunk.length
    if (size <= MAX_BYTES) chunks.push(chunk)
  })
  return {
    includes: (code) => size <= MAX_BYTES && codesIn(Buffer.concat(chunks), isCompressed).includes(code),
  }
}

/** Source: https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode */
function codesIn(body: Buffer, isCompressed: boolean): readonly unknown[] {
  try {
    const text = isCompressed ? unzipSync(body, { maxOutputLength: MAX_BYTES }) : body
    const details = membersOf(membersOf(JSON.parse(text.toString())).error).details
    return Array.isArray(details) ? details.map((detail) => membersOf(detail).errorCode) : []
  } catch {
    // A page, or the half of an answer.
    return []
  }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
