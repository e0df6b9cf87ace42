import { ApiError } from '../errors.ts'
import type { Store } from '../messages/store.ts'
import { answer, type Call } from './call.ts'
import { claimedStation } from './claim.ts'
import { messageRecord, senderAvatars } from './message-record.ts'
import type { BodyCheck, SyncBody } from './schemas.ts'

/** `/v1/sync`: what a station missed since its cursor. */
export function syncCall({ check, store }: { readonly check: BodyCheck<SyncBody>; readonly store: Store }): Call {
  return async (received) => {
    const body = check(received)
    const key = claimedStation(body)
    if (!store.stations.get(key)) throw new ApiError('not_registered')
    const { messages, serverTime } = await store.history.since(key, body.since)
    return answer({
      serverTime,
      messages: messages.map(messageRecord),
      avatars: senderAvatars(messages, store.stations),
    })
  }
}
