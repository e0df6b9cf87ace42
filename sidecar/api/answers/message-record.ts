import { textOf } from '../../aprs/message.ts'
import type { AckRecord, MessageRecord } from '../../client/wire/bodies.ts'
import type { StoredAck } from '../../messages/acks/received-acks.ts'
import type { StationKey, Stations, StoredMessage } from '../../messages/store.ts'

export function messageRecord({ from, to, seqId, text, stamp }: StoredMessage): MessageRecord {
  return { from, to, seqId, ...textOf(text), time: stamp }
}

export function ackRecord({ from, seqId, kind, stamp }: StoredAck): AckRecord {
  return { from, seqId, kind, time: stamp }
}

/**
 * Returns the avatar hashes of the senders that are registered and have an avatar. Source: section `/v1/sync` of the
 * specification.
 */
export function senderAvatars(
  senders: readonly StationKey[],
  stations: Pick<Stations, 'get'>,
): Readonly<Record<StationKey, string>> {
  const hashes: Record<StationKey, string> = {}
  for (const sender of senders) {
    const avatar = stations.get(sender)?.avatar
    if (avatar?.state === 'set') hashes[sender] = avatar.hash
  }
  return hashes
}
