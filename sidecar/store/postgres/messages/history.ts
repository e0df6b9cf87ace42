import { hasOptions, takes } from '../../../messages/devices/device-options.ts'
import type { History, Stamps } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Appends } from './appends.ts'
import type { SharedCursors } from './cursors.ts'
import type { Reader } from './reader.ts'

const LAST = 'SELECT last FROM clock'

interface HistoryParts {
  readonly appends: Appends
  readonly reader: Reader
  readonly cursors: Pick<SharedCursors, 'timeIn'>
  readonly perStation: number
}

/**
 * Opens the message history in the shared tables. It has no cache: each sync queries the database, so all instances
 * give the same answers.
 */
export function openHistory({ appends, reader, cursors, perStation }: HistoryParts): History {
  return {
    append: appends.append,
    async since(key, device, since, from = since) {
      const reading = await reader.read(key, device, from)
      if (!reading.station) return undefined
      const { options, registeredAt, newest, newestDropped, hasOtherSsids, acks } = reading.station
      const isShareable = !hasOptions(options) && !hasOtherSsids
      const messages = isShareable
        ? reading.station.messages
        : reading.station.messages.filter((message) => takes(options, message))
      const withoutMessages = cursors.timeIn(reading, since)
      const { lineage } = reading
      const answerStamp = newest > since ? newest : withoutMessages
      const read = { messages, isShareable, registeredAt, newest, newestDropped, lineage, answerStamp }
      return acks ? { ...read, acks } : read
    },
    perStation,
  }
}

/**
 * Opens the source of stamps, the newest of the database. By this machine's time, a phone could miss messages that
 * another instance stores.
 */
export function openServerTime({ query }: Queries): Stamps {
  return {
    async issue() {
      const [clock] = await query<{ last: number }>(LAST)
      return clock?.last ?? 0
    },
  }
}
