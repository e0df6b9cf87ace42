import type { History, StationKey, Stations, StoredMessage } from '../../messages/store.ts'
import { type BodyHead, plainHead } from '../answers/answer.ts'
import { jsonText } from '../answers/json-text.ts'
import { messageRecord, senderAvatars } from '../answers/message-record.ts'
import type { RingCache } from './ring-cache.ts'

interface ReadThroughParts {
  readonly stations: Pick<Stations, 'get'>
  readonly history: Pick<History, 'since'>
}

/**
 * Asks the history each time and keeps nothing, where other processes store too: what was kept here could lack what they stored.
 * The history asks for what comes together in one go.
 */
export function createReadThrough({ stations, history }: ReadThroughParts): Pick<RingCache, 'since'> {
  function headOf(messages: readonly StoredMessage[]): BodyHead {
    const records = messages.map((message) => jsonText(messageRecord(message))).join(',')
    const senders: readonly StationKey[] = messages.map(({ from }) => from)
    return plainHead(`{"messages":[${records}],"avatars":${jsonText(senderAvatars(senders, stations))}`)
  }

  return {
    async since(key, device, since) {
      const found = await history.since(key, device, since)
      return found && { head: headOf(found.messages), serverTime: found.serverTime }
    },
  }
}
