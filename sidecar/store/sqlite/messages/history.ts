import type { Clock } from '../../../clock.ts'
import type { Log } from '../../../log.ts'
import { hasOptions, takes } from '../../../messages/devices/device-options.ts'
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
import { readSql } from '../../read-sql.ts'
import type { Database, Transaction, Write } from '../database/database.ts'
import type { AckClaims } from './acks.ts'
import type { Duplicates } from './duplicates.ts'
import type { RingIndex } from './ring-index.ts'
import type { StampSequence } from './server-time.ts'
import type { StationTable } from './stations.ts'

const INSERT = readSql(new URL('./insert-messages.sql', import.meta.url))

// Returns one unsorted JSON string, which is twice as fast as a sorted row per message. It is sorted in JavaScript,
// because it is nearly always in order already.
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

/** The outcome of a message: the stored message, or the reason why it was not stored. */
type Fate = StoredMessage | 'duplicate' | 'no_station'

/** Opens the rings of all stations, and the feed of newly stored messages. */
export function openHistory(
  database: Database,
  stamps: StampSequence,
  options: HistoryOptions,
): { readonly history: History; readonly feed: Feed } {
  const feed = new StoredFeed(options.log)
  return { history: new SqliteHistory(database, stamps, feed, options), feed }
}

/** Calls listeners with the messages of each transaction, once it is committed. */
class StoredFeed implements Feed {
  readonly #listeners: ((messages: readonly StoredMessage[]) => void)[] = []
  readonly #log: Log

  constructor(log: Log) {
    this.#log = log
  }

  readonly onStored: Feed['onStored'] = (listener) => void this.#listeners.push(listener)

  publish(messages: readonly StoredMessage[]): void {
    for (const listener of this.#listeners) {
      try {
        listener(messages)
      } catch (error) {
        this.#log.error('history-listener-failed', 'A listener to what is stored failed.', { error })
      }
    }
  }
}

/**
 * Stores messages and reads rings. It has no state of its own. The ring index and the marks of duplicates change with
 * each storing transaction, and are restored if it is rolled back.
 *
 * Public methods are arrow functions, because callers pass them on without this object.
 */
class SqliteHistory implements History {
  readonly #database: Database
  readonly #stamps: StampSequence
  readonly #feed: StoredFeed
  readonly #options: HistoryOptions
  readonly perStation: number

  constructor(database: Database, stamps: StampSequence, feed: StoredFeed, options: HistoryOptions) {
    this.#database = database
    this.#stamps = stamps
    this.#feed = feed
    this.#options = options
    this.perStation = options.perStation
  }

  readonly append: History['append'] = async (messages, mayAck) => {
    this.#database.assertOpen()
    if (messages.length === 0) return []
    const fates = await this.#database.write(this.#append, messages)
    return fates.map((fate, index) => this.#outcomeOf(messages[index] as ReceivedMessage, fate, mayAck))
  }

  readonly since: History['since'] = async (station, device, since, from = since) => {
    const { stations, rings, cursors } = this.#options
    // Reads run between transactions, so every message in the ring index is in the file.
    const ring = await this.#database.read(async (queries) => {
      const registered = stations.get(station)
      const { options } = deviceOf(registered, device) ?? {}
      if (!registered || !options) return undefined
      const { registeredAt } = registered
      const isShareable = !hasOptions(options)
      const newest = rings.newest(station)
      const newestDropped = rings.newestDropped(station)
      const times = rings.newer(station, from)
      if (times.length === 0) return { messages: [], isShareable, registeredAt, newest, newestDropped }
      const [row] = await queries.all<{ messages: string }>(MESSAGES, JSON.stringify(times))
      const messages = parseMessages(station, row?.messages ?? '[]').filter((message) => takes(options, message))
      return { messages, isShareable, registeredAt, newest, newestDropped }
    })
    if (!ring) return undefined
    const lastMessage = ring.newest > since ? ring.newest : undefined
    return { ...ring, answerStamp: await cursors.stampFor(station, device, since, lastMessage) }
  }

  readonly #append: Write<readonly IncomingMessage[], readonly Fate[]> = {
    weight: (messages) => messages.length,
    run: async (tx, inputs) => {
      const fates = await this.#insert(tx, inputs.flat())
      const stored = fates.filter((fate) => typeof fate !== 'string')
      tx.onCommit(() => this.#feed.publish(stored))
      let start = 0
      return inputs.map((messages) => {
        start += messages.length
        return fates.slice(start - messages.length, start)
      })
    },
  }

  async #insert(tx: Transaction, messages: readonly IncomingMessage[]): Promise<readonly Fate[]> {
    const { duplicates, rings, stations, clock } = this.#options
    const receivedAt = clock.now()
    const copies = await duplicates.among(tx, messages, receivedAt)
    await rings.sweepFor(tx, receivedAt, messages.length)
    // Do not `await` between taking the stamps and adding the messages to the index. Otherwise a reader could miss a
    // message in the index, and get a cursor newer than that message.
    const first = this.#stamps.take(tx, messages.length)
    const fates = messages.map(({ from, to, seqId, text }, index): Fate => {
      if (copies[index]) return 'duplicate'
      return stations.registeredAt(to) === undefined ? 'no_station' : { from, to, seqId, text, stamp: first + index }
    })
    const stored = fates.filter((fate) => typeof fate !== 'string')
    rings.add(tx, stored, receivedAt)
    if (stored.length === 0) return fates
    await this.#stamps.cover(tx)
    const rows = stored.map(({ from, to, seqId, text, stamp }) => [stamp, to, from, seqId, text.toString('hex')])
    await tx.last(INSERT, JSON.stringify(rows), receivedAt)
    return fates
  }

  #outcomeOf(message: ReceivedMessage, fate: Fate, mayAck: boolean): AppendOutcome {
    if (fate === 'no_station') return { kind: fate }
    // A duplicate is acknowledged too, because a sender retransmits if it did not receive the ack.
    const ack = mayAck && this.#options.acks(message)
    return fate === 'duplicate' ? { kind: fate, ack } : { kind: 'stored', message: fate, ack }
  }
}

function parseMessages(station: StationKey, json: string): readonly StoredMessage[] {
  const rows = JSON.parse(json) as readonly (readonly [stamp: number, source: string, seqId: string, hex: string])[]
  return rows
    .map(([stamp, from, seqId, hex]) => ({ from, to: station, seqId, text: Buffer.from(hex, 'hex'), stamp }))
    .sort((a, b) => a.stamp - b.stamp)
}
