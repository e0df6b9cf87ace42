import type { NewMessages as ReadMessages, Stations } from '../../messages/store.ts'
import { plainHead } from '../answers/answer.ts'
import { jsonText } from '../answers/json-text.ts'
import { ackRecord, messageRecord, senderAvatars } from '../answers/message-record.ts'
import type { NewMessages } from './ring-cache.ts'

/**
 * Returns the answer to a device with options that select other messages than the cached ones. The answer is built for
 * this request only. `since`: the cursor of the request.
 */
export function uncachedAnswer(read: ReadMessages, since: number, stations: Pick<Stations, 'get'>): NewMessages {
  const { messages, acks, newestDropped, answerStamp } = read
  const avatars = senderAvatars(
    messages.map(({ from }) => from),
    stations,
  )
  // The closing brace is omitted, so that the endpoint can append members.
  const head = jsonText({
    messages: messages.map(messageRecord),
    avatars,
    ...(acks && { acks: acks.map(ackRecord) }),
  }).slice(0, -1)
  return { head: plainHead(head), serverTime: answerStamp, isTruncated: newestDropped > since }
}
