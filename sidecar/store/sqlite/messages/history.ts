import type { Clock } from '../../../clock.ts'
import type { Log } from '../../../log.ts'
import { deviceOf } from '../../../messages/station.ts'
import type {
  AppendOutcome,
  Cursors,
  Feed,
  History,
  IncomingMessage,
  ReceivedMessage,
  StationKey,
  StoredMessage,
} from '../../../messages/store.ts'
import type { Database, Transaction, Write } from '../database/database.ts'
import type { AckClaims } from './acks.ts'
import type { Duplicates } from './duplicates.ts'
import type { RingIndex } from './ring-index.ts'
import type { StampSequence } from './server-time.ts'
import type { StationTable } from './stations.ts'

// A whole transaction's messages in one statement: 50,000 and more a second where one statement each would make a few
// thousand, since each costs a trip to libuv's pool. Text travels as hex, as JSON knows no bytes.
const INSERT = `
  INSERT INTO message (time, station, source, seq_id, text, received_at)
  SELECT row.value ->> 0, row.value ->> 1, row.value ->> 2, row.value ->> 3, unhex(row.value ->> 4), ?2
  FROM json_each(?1) AS row
  ORDER BY row.key`

// One string instead of a row object for each message, and sorted here, where it nearly always is already: twice as
// fast.
const MESSAGES = `
  SELECT json_group_array(json_array(time, source, seq_id, hex(text))) AS messages
  FROM message WHERE time IN (SELECT value FROM json_each(?))`

interface HistoryOptions {
  readonly rings: RingIndex
  readonly perStation: number
  readonly stations: Pick<StationTable, 'get' | 'registeredAt'>
  readonly duplicates: Duplicates
  readonly acks: AckClaims
  readonly cursors: Cursors
  readonly clock: Clock
  readonly log: Log
}

/** What became of a message: stored as this, or not. */
type Fate = StoredMessage | 'duplicate' | 'no_station'

/** The ring of each station, and the feed of all. */
export function openHistory(
  database: Database,
  stamps: StampSequence,
  { rings, perStation, stations, duplicates, acks, cursors, clock, log }: HistoryOptions,
): { readonly history: History; readonly feed: Feed } {
  const listeners: ((messages: readonly StoredMessage[]) => void)[] = []

  function tell(messages: readonly StoredMessage[]): void {
    for (const listener of listeners) {
      try {
        listener(messages)
      } catch (error) {
        log.error('history-listener-failed', 'A listener to what is stored failed.', { error })
      }
    }
  }

  async function insert(tx: Transaction, messages: readonly IncomingMessage[]): Promise<readonly Fate[]> {
    const receivedAt = clock.now()
    const copies = await duplicates.among(tx, messages, receivedAt)
    await rings.sweepFor(tx, receivedAt, messages.length)
    // From the stamps to the index in one go: who finds nothing of a station there is given a stamp that is older than
    // what comes.
    const first = stamps.take(tx, messages.length)
    const fates = messages.map(({ from, to, seqId, text }, index): Fate => {
      if (copies[index]) return 'duplicate'
      return stations.registeredAt(to) === undefined ? 'no_station' : { from, to, seqId, text, stamp: first + index }
    })
    const stored = fates.filter((fate) => typeof fate !== 'string')
    rings.add(tx, stored, receivedAt)
    if (stored.length === 0) return fates
    await stamps.cover(tx)
    const rows = stored.map(({ from, to, seqId, text, stamp }) => [stamp, to, from, seqId, text.toString('hex')])
    await tx.last(INSERT, JSON.stringify(rows), receivedAt)
    return fates
  }

  const append: Write<readonly IncomingMessage[], readonly Fate[]> = {
    weight: (messages) => messages.length,
    async run(tx, inputs) {
      const fates = await insert(tx, inputs.flat())
      const stored = fates.filter((fate) => typeof fate !== 'string')
      tx.onCommit(() => tell(stored))
      let start = 0
      return inputs.map((messages) => {
        start += messages.length
        return fates.slice(start - messages.length, start)
      })
    },
  }

  function outcomeOf(message: ReceivedMessage, fate: Fate, mayAck: boolean): AppendOutcome {
    if (fate === 'no_station') return { kind: fate }
    // A retransmission says that the sender did not get the ack.
    const ack = mayAck && acks(message)
    return fate === 'duplicate' ? { kind: fate, ack } : { kind: 'stored', message: fate, ack }
  }

  const history: History = {
    async append(messages, mayAck) {
      database.assertOpen()
      if (messages.length === 0) return []
      const fates = await database.write(append, messages)
      return fates.map((fate, index) => outcomeOf(messages[index] as ReceivedMessage, fate, mayAck))
    },

    async since(station, device, since, from = since) {
      // Between transactions: what the index has is in the file.
      const read = await database.read(async (queries) => {
        const registered = stations.get(station)
        if (!registered || !deviceOf(registered, device)) return undefined
        const { registeredAt } = registered
        const newest = rings.newest(station)
        const times = rings.newer(station, from)
        if (times.length === 0) return { messages: [], registeredAt, newest }
        const [found] = await queries.all<{ messages: string }>(MESSAGES, JSON.stringify(times))
        return { messages: parseMessages(station, found?.messages ?? '[]'), registeredAt, newest }
      })
      if (!read) return undefined
      const lastMessage = read.newest > since ? read.newest : undefined
      return { ...read, answerStamp: await cursors.stampFor(station, device, since, lastMessage) }
    },

    perStation,
  }

  const feed: Feed = {
    onStored(listener) {
      listeners.push(listener)
    },
  }

  return { history, feed }
}

function parseMessages(station: StationKey, json: string): readonly StoredMessage[] {
  const rows = JSON.parse(json) as readonly (readonly [stamp: number, source: string, seqId: string, hex: string])[]
  return rows
    .map(([stamp, from, seqId, hex]) => ({ from, to: station, seqId, text: Buffer.from(hex, 'hex'), stamp }))
    .sort((one, other) => one.stamp - other.stamp)
}
