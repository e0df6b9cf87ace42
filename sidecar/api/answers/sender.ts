import type { ServerResponse } from 'node:http'
import { TLSSocket } from 'node:tls'
import type { Content, EncodedAnswer } from './answer.ts'

/** Sends an answer, whole. */
export type AnswerSender = (response: ServerResponse, status: number, answer: EncodedAnswer) => void

/** Room for nearly every answer, 50 messages have 10 KB. Whoever reads nothing of an answer may keep as much for it. */
const SCRATCH_BYTES = 16_384

/**
 * Puts one answer after the other together in the same memory, which is free again once the system has taken what is there: mostly at
 * once. As strings, or with memory of its own each, they left so much to the garbage collector that it took a sixth of the time.
 */
export function createAnswerSender(): AnswerSender {
  let scratch: Buffer | undefined

  function memoryFor({ socket }: ServerResponse, bytes: number): Buffer {
    // By TLS nothing is ever taken at once.
    if (bytes > SCRATCH_BYTES || socket instanceof TLSSocket) return Buffer.allocUnsafe(bytes)
    scratch ??= Buffer.allocUnsafeSlow(SCRATCH_BYTES)
    return scratch
  }

  function sendBytes(response: ServerResponse, { bytes, copyTo }: Exclude<Content, string>): void {
    const memory = memoryFor(response, bytes)
    copyTo(memory)
    response.end(memory.subarray(0, bytes))
    // Its reader is slow, or it waits for an earlier answer.
    if (memory === scratch && !response.writableFinished) scratch = undefined
  }

  return (response, status, { headers, content }) => {
    response.writeHead(status, headers)
    if (typeof content === 'string') response.end(content, 'latin1')
    else sendBytes(response, content)
  }
}
