import { hash, randomBytes } from 'node:crypto'
import { contentEnd, messageNumber } from '../../../aprs/sequence-id.ts'
import type { HistorySettings } from '../../../config/settings.ts'
import { horizonsMs } from '../../../messages/duplicate-horizons.ts'
import { ringOf } from '../../../messages/message.ts'
import type { IncomingMessage, StationKey } from '../../../messages/store.ts'
import { readSql } from '../../read-sql.ts'
import type { Connection } from '../database/connection.ts'
import type { Transaction } from '../database/database.ts'
import type { OpenedRingIndex } from './ring-index.ts'
import type { StationTable } from './stations.ts'

/**
 * Limit of young marks, and of old ones. So this number to twice as many messages are remembered, in 15 MB. The APRS
 * network carries fewer in two hours.
 */
const MAX_MARKS = 98_304

/** Number of rows that a start reads at once. */
const PAGE_ROWS = 10_000

const DROPPED = readSql(new URL('./dropped-marks.sql', import.meta.url))

const FROM_SENDERS = readSql(new URL('./sender-marks.sql', import.meta.url))

type Mark = readonly [
  station: StationKey,
  source: string,
  seqId: string,
  hex: string,
  receivedAt: number,
  addressee: string,
]

interface MarksRow {
  /** A JSON array of {@link Mark}. */
  readonly marks: string
}

/**
 * Recognizes duplicates. A message is a duplicate if its sender, addressee, message number and text equal those of an
 * earlier one.
 */
export interface Duplicates {
  /**
   * Returns whether each of `messages` duplicates a recently stored or an earlier one. Remembers the others as stored
   * at `now` (wall clock), unless `tx` is rolled back. Ignores messages to unregistered stations.
   */
  among(tx: Transaction, messages: readonly IncomingMessage[], now: number): Promise<readonly boolean[]>
}

/** Opens the detection of duplicates, and reads the dropped messages, which are no longer in a ring. */
export async function openDuplicates(
  connection: Connection,
  { rings, senders }: OpenedRingIndex,
  stations: Pick<StationTable, 'registeredAt'>,
  settings: HistorySettings,
): Promise<Duplicates> {
  const duplicates = new MarkedDuplicates(rings, senders, stations, settings)
  const dropped = rings.dropped()
  for (let first = 0; first < dropped.length; first += PAGE_ROWS)
    duplicates.remember(
      await connection.all<MarksRow>(DROPPED, JSON.stringify(dropped.slice(first, first + PAGE_ROWS))),
    )
  return duplicates
}

/**
 * Detects duplicates by marks in memory: the digest of a message, and when it was last stored. A start reads the
 * dropped messages. Those in a ring are read when their sender sends again. Age does not matter, because a machine
 * without a clock battery learns the time only after the start.
 *
 * When there are {@link MAX_MARKS} young marks, they become the old ones, and the former old ones are forgotten. So the
 * number of marks does not depend on a clock.
 */
class MarkedDuplicates implements Duplicates {
  readonly #rings: OpenedRingIndex['rings']
  readonly #senders: OpenedRingIndex['senders']
  readonly #stations: Pick<StationTable, 'registeredAt'>
  readonly #horizons: ReturnType<typeof horizonsMs>
  /** A random part of each digest. Without it, a sender could prepare two messages with the same short digest. */
  readonly #secret = randomBytes(9).toString('base64')
  #young = new Map<string, number>()
  #old = this.#young

  constructor(
    rings: OpenedRingIndex['rings'],
    senders: OpenedRingIndex['senders'],
    stations: Pick<StationTable, 'registeredAt'>,
    settings: HistorySettings,
  ) {
    this.#rings = rings
    this.#senders = senders
    this.#stations = stations
    this.#horizons = horizonsMs(settings)
  }

  async among(tx: Transaction, messages: readonly IncomingMessage[], now: number): Promise<readonly boolean[]> {
    await this.#readRings(tx, messages)
    const formerMarks: { digest: string; time: number }[] = []
    tx.onRollback(() => {
      for (const { digest, time } of formerMarks) this.#mark(digest, time)
    })
    return messages.map((message) => {
      const { from, to, seqId, text } = message
      const registeredAt = this.#stations.registeredAt(ringOf(message))
      if (registeredAt === undefined) return false
      const digest = this.#digestOf(registeredAt, to, from, seqId, text)
      // Compares the absolute difference of the times. Otherwise, messages that were stored while the clock was ahead
      // would count as recent too long.
      const time = this.#young.get(digest) ?? this.#old.get(digest) ?? Number.NEGATIVE_INFINITY
      const horizon = seqId === '' ? this.#horizons.unnumbered : this.#horizons.numbered
      if (Math.abs(now - time) < horizon) return true
      formerMarks.push({ digest, time })
      this.#mark(digest, now)
      return false
    })
  }

  /** Remembers the messages in `row.marks`, to recognize their duplicates. */
  remember([row]: readonly MarksRow[]): void {
    for (const [station, source, seqId, hex, receivedAt, addressee] of JSON.parse(
      row?.marks ?? '[]',
    ) as readonly Mark[]) {
      const registeredAt = this.#stations.registeredAt(station)
      if (registeredAt === undefined) continue
      this.#mark(this.#digestOf(registeredAt, addressee, source, seqId, Buffer.from(hex, 'hex')), receivedAt)
    }
  }

  /**
   * Remembers the messages that the senders of `messages` have had in rings since before the start. Of the 50 or more
   * in a ring, few are from one sender.
   */
  async #readRings(tx: Transaction, messages: readonly IncomingMessage[]): Promise<void> {
    const unread = messages.filter((message) => this.#senders.get(ringOf(message))?.has(message.from))
    if (unread.length === 0) return
    const pairs = unread.map((message) => [message.from, this.#rings.fromBefore(ringOf(message))])
    this.remember(await tx.look<MarksRow>(FROM_SENDERS, JSON.stringify(pairs)))
    tx.onCommit(() => {
      for (const message of unread) {
        const ring = ringOf(message)
        const senders = this.#senders.get(ring)
        senders?.delete(message.from)
        if (senders?.size === 0) this.#senders.delete(ring)
      }
    })
  }

  /** Returns the digest of a message. It includes `registeredAt`, so that earlier registrations do not count. */
  #digestOf(registeredAt: number, to: string, from: string, seqId: string, text: Buffer): string {
    const content = text.toString('latin1')
    const shown = content.slice(0, contentEnd(content))
    const identity = `${this.#secret}\n${registeredAt}\n${to}\n${from}\n${messageNumber(seqId)}\n${shown}`
    return hash('sha256', identity, 'binary').slice(0, 8)
  }

  #mark(digest: string, time: number): void {
    if (this.#young.size >= MAX_MARKS) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(digest, time)
  }
}
