import { textOf } from '../aprs/message.ts'
import type { Stations, StoredMessage } from '../messages/store.ts'

/** A message as clients get it. */
export interface MessageRecord {
  readonly from: string
  readonly to: string
  readonly seqId: string
  readonly text: string
  /** Server time at which it was stored, in milliseconds. */
  readonly time: number
  /** The text's bytes in base64, where they are not UTF-8. */
  readonly textBytes?: string
}

export function messageRecord({ from, to, seqId, text, time }: StoredMessage): MessageRecord {
  return { from, to, seqId, ...textOf(text), time }
}

/** Hashes of those senders that are stations with an avatar. Source: `/v1/sync`, `avatars`. */
export function senderAvatars(messages: readonly StoredMessage[], stations: Pick<Stations, 'get'>) {
  const hashes: Record<string, string> = {}
  for (const { from } of messages) {
    const avatar = stations.get(from)?.avatar
    if (avatar?.state === 'set') hashes[from] = avatar.hash
  }
  return hashes
}
