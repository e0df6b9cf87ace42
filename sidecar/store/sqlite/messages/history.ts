import { contentEnd, messageNumber } from '../../../aprs/sequence-id.ts'
import type { Clock } from '../../../clock.ts'
import type { Log } from '../../../log.ts'
import { hasOptions, takes } from '../../../messages/devices/device-options.ts'
import { destinationOf, ringOf } from '../../../messages/message.ts'
import { deviceOf } from '../../../messages/station.ts'
import type {
  AppendOutcome,
  Cursors,
  Feed,
  History,
  ReceivedMessage,
  StationKey,
  StoredMessage,
} from '../../../messages/store.ts'
import { readSql } from '../../read-sql.ts'
import type { AckClaims } from '../acks/ack-claims.ts'
import type { AckTable } from '../acks/received-acks.ts'
import { type Database, eachInTurn, type Transaction, type Write } from '../database/database.ts'
import type { Duplicates } from './duplicates.ts'
import type { RingIndex } from './ring-index.ts'
import type { StampSequence } from './server-time.ts'
import type { StationTable } from './stations.ts'

const INSERT = readSql(new URL('./insert-messages.sql', import.meta.url))

// Returns one unsorted JSON string, which is twice as fast as a sorted row per message. JavaScript sorts the messages,
// which are nearly always in order already.
const MESSAGES = `
  SELECT json_group_array(json_array(time, source, seq_id, hex(text), addressee)) AS messages
  FROM message WHERE time IN (SELECT value FROM json_each(?))`

const FROM_SENDER = `
  SELECT time AS stamp, seq_id AS seqId, text FROM message
  WHERE time IN (SELECT value FROM json_each(?)) AND source = ? AND addressee IS NULL ORDER BY time DESC`

const SET_ACKED = 'UPDATE message SET acked_at = ? WHERE time = ? AND acked_at IS NULL'

interface HistoryOptions {
  readonly rings: RingIndex
  readonly perStation: number
  readonly stations: Pick<StationTable, 'get' | 'registeredAt'>
  readonly duplicates: Duplicates
  readonly acks: AckClaims
  readonly receivedAcks: Pick<AckTable, 'newest' | 'newer'>
  readonly cursors: Cursors
  readonly clock: Clock
  readonly log: Log
}

/** A message to be stored. */
interface Append {
  readonly message: ReceivedMessage
  /** Whether the message is acknowledged once it is durable. */
  readonly ack: boolean
}

/** Opens the rings of all stations, and the feed of newly stored messages. */
export function openHistory(
  database: Database,
  stamps: StampSequence,
  options: HistoryOptions,
): { readonly history: History; readonly feed: Feed } {
  const feed = new StoredFeed(options.log)
  return { history: new SqliteHistory(database, stamps, feed, options), feed }
}

/** Calls the listeners with the messages of each transaction, once it is committed. */
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
        this.#log.error(
          'history-listener-failed',
          'A listener for stored messages failed. Please report this as a bug, with the error.',
          { error },
        )
      }
    }
  }
}

/**
 * Stores messages and reads rings, without a state of its own.
 *
 * Public methods are arrow functions, because callers pass them on as plain functions.
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
    const { acks } = this.#options
    // The acks are decided before the write, so that the same write records them at no further cost.
    const appends = messages.map((message) => ({ message, ack: mayAck && acks.claim(message) }))
    try {
      return await this.#database.write(this.#append, appends)
    } catch (error) {
      for (const { message, ack } of appends) if (ack) acks.withdraw(message)
      throw error
    }
  }

  readonly since: History['since'] = async (station, device, since, from = since) => {
    const { stations, rings, receivedAcks, cursors } = this.#options
    // Reads run between transactions, so every message and ack that is known in memory is also in the file.
    const ring = await this.#database.read(async (queries) => {
      const registered = stations.get(station)
      const { options } = deviceOf(registered, device) ?? {}
      if (!registered || !options) return undefined
      const { registeredAt } = registered
      const isShareable = !hasOptions(options) && !rings.hasOtherSsids(station)
      const newest = Math.max(rings.newest(station), options.wantAcks ? receivedAcks.newest(station) : 0)
      const acks = options.wantAcks ? await receivedAcks.newer(queries, station, since) : undefined
      const read = {
        isShareable,
        registeredAt,
        newest,
        newestDropped: rings.newestDropped(station),
        ...(acks && { acks }),
      }
      const times = rings.newer(station, from)
      if (times.length === 0) return { messages: [], ...read }
      const [row] = await queries.all<{ messages: string }>(MESSAGES, JSON.stringify(times))
      const messages = parseMessages(station, row?.messages ?? '[]').filter((message) => takes(options, message))
      return { messages, ...read }
    })
    if (!ring) return undefined
    const lastMessage = ring.newest > since ? ring.newest : undefined
    return { ...ring, answerStamp: await cursors.stampFor(station, device, since, lastMessage) }
  }

  readonly #append: Write<readonly Append[], readonly AppendOutcome[]> = {
    weight: (appends) => appends.length,
    run: async (tx, inputs) => {
      const outcomes = await this.#insert(tx, inputs.flat())
      const stored = outcomes.flatMap((outcome) => (outcome.kind === 'stored' ? [outcome.message] : []))
      tx.onCommit(() => this.#feed.publish(stored))
      let start = 0
      return inputs.map((appends) => {
        start += appends.length
        return outcomes.slice(start - appends.length, start)
      })
    },
  }

  async #insert(tx: Transaction, appends: readonly Append[]): Promise<readonly AppendOutcome[]> {
    const { duplicates, rings, stations, clock } = this.#options
    const messages = appends.map(({ message }) => message)
    const receivedAt = clock.now()
    const copies = await duplicates.among(tx, messages, receivedAt)
    await rings.sweepFor(tx, receivedAt, messages.length)
    // No `await` from here to `rings.add`. Otherwise a reader could get a cursor newer than a message that it missed.
    const first = this.#stamps.take(tx, messages.length)
    const outcomes = appends.map(({ message, ack }, index): AppendOutcome => {
      // A duplicate is acknowledged too, because a sender retransmits if it did not receive the ack.
      if (copies[index]) return { kind: 'duplicate', ack }
      if (stations.registeredAt(ringOf(message)) === undefined) return { kind: 'no_station' }
      return { kind: 'stored', message: storedMessage(message, first + index), ack }
    })
    const stored = outcomes.filter((outcome) => outcome.kind === 'stored')
    rings.add(
      tx,
      stored.map(({ message }) => message),
      receivedAt,
    )
    const isAckedCopy = (outcome: AppendOutcome) => outcome.kind === 'duplicate' && outcome.ack
    const hasAckedCopies = outcomes.some(isAckedCopy)
    if (stored.length > 0) {
      await this.#stamps.cover(tx)
      const rows = JSON.stringify(stored.map(({ message, ack }) => rowOf(message, ack)))
      await (hasAckedCopies ? tx.all : tx.last)(INSERT, rows, receivedAt)
    }
    if (!hasAckedCopies) return outcomes
    return eachInTurn([...outcomes.entries()], async ([index, outcome]) => {
      const stamp = isAckedCopy(outcome)
        ? await this.#ackOriginal(tx, messages[index] as ReceivedMessage, receivedAt)
        : 0
      return stamp > 0 ? { ...outcome, stamp } : outcome
    })
  }

  /**
   * Records the ack of a duplicate in the row of the original message. Returns the original's stamp; 0 if the original
   * is not in the ring.
   */
  async #ackOriginal(tx: Transaction, { from, to, seqId, text }: ReceivedMessage, now: number): Promise<number> {
    const stamps = JSON.stringify(this.#options.rings.newer(to, 0))
    const rows = await tx.all<Pick<StoredMessage, 'stamp' | 'seqId' | 'text'>>(FROM_SENDER, stamps, from)
    const isOriginal = (row: Pick<StoredMessage, 'seqId' | 'text'>) =>
      messageNumber(row.seqId) === messageNumber(seqId) && contentOf(row.text).equals(contentOf(text))
    const stamp = rows.find(isOriginal)?.stamp ?? 0
    if (stamp > 0) await tx.all(SET_ACKED, now, stamp)
    return stamp
  }
}

/** Returns the values for `insert-messages.sql`. Leaves out null values at the end, which most messages have. */
function rowOf(
  { from, to, ring, seqId, text, stamp }: StoredMessage,
  isAcked: boolean,
): readonly (string | number | null)[] {
  const row = [stamp, ring ?? to, from, seqId, text.toString('hex')]
  const addressee = ring === undefined ? null : to
  if (isAcked) return [...row, addressee, 1]
  return addressee === null ? row : [...row, addressee]
}

function contentOf(text: Buffer): Buffer {
  return text.subarray(0, contentEnd(text.toString('latin1')))
}

function storedMessage({ from, to, ring, seqId, text }: ReceivedMessage, stamp: number): StoredMessage {
  const message = { from, to, seqId, text, stamp }
  return ring === undefined ? message : { ...message, ring }
}

type MessageRow = readonly [stamp: number, source: string, seqId: string, hex: string, addressee: string | null]

function parseMessages(station: StationKey, json: string): readonly StoredMessage[] {
  const rows = JSON.parse(json) as readonly MessageRow[]
  return rows
    .map(([stamp, from, seqId, hex, addressee]) => ({
      from,
      ...destinationOf(station, addressee),
      seqId,
      text: Buffer.from(hex, 'hex'),
      stamp,
    }))
    .sort((a, b) => a.stamp - b.stamp)
}
