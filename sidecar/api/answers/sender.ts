import type { ServerResponse } from 'node:http'
import type { Content, EncodedAnswer } from './answer.ts'

/** Sends a whole answer. */
export type AnswerSender = (response: ServerResponse, status: number, answer: EncodedAnswer) => void

/**
 * Size of a reused buffer, in bytes. It fits nearly every answer, because 50 messages take 10 KB. A client that does
 * not read its answer occupies one buffer.
 */
const SCRATCH_BYTES = 16_384

/**
 * Limit of the free buffers that are kept for later answers. With TLS, each of the answers that are sent together needs
 * a buffer of its own.
 */
const MAX_FREE = 64

/**
 * Sends answers from reused buffers. With a string or a new buffer for each answer, garbage collection took a sixth of
 * the time.
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
    // An answer is not finished yet if the client reads slowly, or if an earlier answer on the same connection must be
    // sent first.
    if (response.writableFinished) release()
    else response.once('finish', release)
  }

  return (response, status, { headers, content }) => {
    response.writeHead(status, headers)
    if (typeof content === 'string') response.end(content, 'latin1')
    else sendBytes(response, content)
  }
}
