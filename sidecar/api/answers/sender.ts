import type { ServerResponse } from 'node:http'
import type { Content, EncodedAnswer } from './answer.ts'

/** Sends a whole answer. */
export type AnswerSender = (response: ServerResponse, status: number, answer: EncodedAnswer) => void

/** Enough for nearly every answer: 50 messages have 10 KB. A client that does not read may hold this much. */
const SCRATCH_BYTES = 16_384

/**
 * Buffers that are free for the next answers. With TLS, answers that leave one right after the other need one each.
 */
const MAX_FREE = 64

/**
 * Builds answers in buffers that are reused once the system has taken the bytes, which is mostly at once, and with TLS
 * a moment later. When answers were strings, or each had a buffer of its own, garbage collection took a sixth of the
 * time.
 */
export function createAnswerSender(): AnswerSender {
  const free: Buffer[] = []

  function sendBytes(response: ServerResponse, { bytes, copyTo }: Exclude<Content, string>): void {
    const memory = bytes > SCRATCH_BYTES ? Buffer.allocUnsafe(bytes) : (free.pop() ?? Buffer.allocUnsafe(SCRATCH_BYTES))
    copyTo(memory)
    response.end(memory.subarray(0, bytes))
    if (bytes > SCRATCH_BYTES) return
    const release = () => {
      if (free.length < MAX_FREE) free.push(memory)
    }
    // The reader is slow, or the answer waits for an earlier one on its connection.
    if (response.writableFinished) release()
    else response.once('finish', release)
  }

  return (response, status, { headers, content }) => {
    response.writeHead(status, headers)
    if (typeof content === 'string') response.end(content, 'latin1')
    else sendBytes(response, content)
  }
}
