import type { NewMessages } from '../../../sidecar/api/ring-cache.ts'
import type { MessageRecord } from '../../../sidecar/wire/bodies.ts'

/** The beginning of an answer as a client reads it. */
export function answerIn({ head }: Pick<NewMessages, 'head'>): {
  readonly messages: readonly MessageRecord[]
  readonly avatars: Readonly<Record<string, string>>
} {
  return JSON.parse(Buffer.from(`${head}}`, 'latin1').toString())
}

export function messagesIn(answer: Pick<NewMessages, 'head'>): readonly MessageRecord[] {
  return answerIn(answer).messages
}
