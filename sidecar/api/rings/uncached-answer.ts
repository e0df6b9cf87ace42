import type { NewMessages as ReadMessages, Stations } from '../../messages/store.ts'
import { plainHead } from '../answers/answer.ts'
import { jsonText } from '../answers/json-text.ts'
import { ackRecord, messageRecord, senderAvatars } from '../answers/message-record.ts'
import type { NewMessages } from './ring-cache.ts'

/** Returns an answer for one request whose messages differ from the cached ring. `since`: the request's cursor. */
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
