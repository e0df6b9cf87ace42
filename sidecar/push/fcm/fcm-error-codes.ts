import type { IncomingMessage } from 'node:http'
import { unzipSync } from 'node:zlib'

/** Size limit of an error's body, both compressed and decompressed. Usual bodies have some hundred bytes. */
const MAX_BYTES = 16_384

/**
 * The error codes in the details of FCM's error answer. `firebase-admin` reads the same answer, but does not return
 * these codes.
 */
export interface FcmErrorCodes {
  /**
   * Whether the answer contains the error code `code`; false if the answer is not in FCM's format. Call once the whole
   * answer has arrived.
   */
  includes(code: string): boolean
}

/** Copies the body of `answer` while the client library reads it. Call before the library reads the first byte. */
export function readErrorCodes(answer: IncomingMessage): FcmErrorCodes {
  // The client library removes the Content-Encoding header later, so this reads it now.
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

/**
 * Returns the error codes in an answer of FCM. Source: https://firebase.google.com/docs/reference/fcm/rest/v1/ErrorCode
 */
function codesIn(body: Buffer, isCompressed: boolean): readonly unknown[] {
  try {
    const text = isCompressed ? unzipSync(body, { maxOutputLength: MAX_BYTES }) : body
    const details = membersOf(membersOf(JSON.parse(text.toString())).error).details
    return Array.isArray(details) ? details.map((detail) => membersOf(detail).errorCode) : []
  } catch {
    // FCM's answer is not complete JSON: for example, it is truncated, or a proxy sent an HTML page.
    return []
  }
}

function membersOf(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
