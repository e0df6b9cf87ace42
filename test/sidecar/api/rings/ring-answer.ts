import { createRingCache } from '../../../../sidecar/api/rings/create-ring-cache.ts'
import type { NewMessages, RingCache } from '../../../../sidecar/api/rings/ring-cache.ts'
import type { AckRecord, MessageRecord } from '../../../../sidecar/client/wire/bodies.ts'
import type { Store } from '../../../../sidecar/messages/store.ts'

/** Parses the head of an answer as a client would. Throws if the station is not registered. */
export function answerIn(answer: Pick<NewMessages, 'head'> | undefined): {
  readonly messages: readonly MessageRecord[]
  readonly avatars: Readonly<Record<string, string>>
  readonly acks?: readonly AckRecord[]
} {
  if (!answer) throw new Error('The station is not registered.')
  return JSON.parse(Buffer.from(`${answer.head.text()}}`, 'latin1').toString())
}

export function cacheOver(store: Store, maxBytes?: number): RingCache {
  return createRingCache(store, maxBytes)
}

export function messagesIn(answer: Pick<NewMessages, 'head'>): readonly MessageRecord[] {
  return answerIn(answer).messages
}
