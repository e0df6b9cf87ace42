import FlatQueue from 'flatqueue'
import type { HistorySettings } from '../../../config/settings.ts'
import { horizonsMs } from '../../../messages/duplicate-horizons.ts'
import { firstNewer } from '../../../messages/first-newer.ts'
import { ringOf } from '../../../messages/message.ts'
import type { StationKey, StoredMessage } from '../../../messages/store.ts'
import type { Connection } from '../database/connection.ts'
import type { Transaction } from '../database/database.ts'
import { loadRows, newestDropped, type Rows, stampOfRow } from './load-rows.ts'

/**
 * Limit of dropped rows in the file, about 11 MB. A full ring drops its oldest row, which stays in the file to
 * recognize duplicates.
 */
const MAX_DROPPED = 100_000
/**
 * Number of dropped rows that are deleted together, by stamp, so that whole pages become free. In the order of
 * dropping, uneven traffic caused seven times as many writes.
 */
const SWEPT_AT_ONCE = 1000
/**
 * If this many messages arrive together, as many dropped rows are deleted with them. So each page is written only once.
 */
const MANY = 250
const SET_DELETED_THROUGH = `
  UPDATE station SET dropped_through = row.value ->> 1 FROM json_each(?) AS row
  WHERE station.key = row.value ->> 0`
const DELETE = 'DELETE FROM message WHERE time IN (SELECT value FROM json_each(?))'

/**
 * An index of each station's messages in the file, by their stamps. Includes the transaction in progress; a rollback
 * restores it.
 */
export interface RingIndex {
  /** Returns the stamps of the messages in a station's ring that are strictly newer than `since`, oldest first. */
  newer(station: StationKey, since: number): readonly number[]
  /** Returns the stamp of the station's newest message; 0 if it has none. */
  newest(station: StationKey): number
  /** Returns the stamp of the newest message that was dropped from the station's ring; 0 if there is none. */
  newestDropped(station: StationKey): number
  /** Returns whether the station's ring may contain messages to other SSIDs of its callsign. */
  hasOtherSsids(station: StationKey): boolean
  /** Returns all stations that have rows in the file. */
  keys(): IterableIterator<StationKey>
  /** Returns the stamps of the messages that were in the station's ring at the start and are still in the file. */
  fromBefore(station: StationKey): readonly number[]
  /** Returns the stamps of all dropped rows in the file, oldest first. */
  dropped(): readonly number[]
  /** Adds messages that `tx` stores at `now` (wall clock). If the ring is full, each message drops the oldest one. */
  add(tx: Transaction, messages: readonly RingEntry[], now: number): void
  /** Deletes dropped rows above the limit, if there are enough of them, before `coming` new rows are added. */
  sweepFor(tx: Transaction, now: number, coming: number): Promise<void>
  /** Returns whether {@link sweep} would delete any row. */
  isSweepable(now: number): boolean
  /** Deletes at most one slice of dropped rows that have expired at `now` or are above the limit. */
  sweep(tx: Transaction, now: number): Promise<void>
  /** Deletes rows of stations, at most `atMost` of each station. Resolves with the number of deleted rows. */
  discard(tx: Transaction, stations: readonly StationKey[], atMost?: number): Promise<number>
}

/** The parts of a message that the index uses. */
export type RingEntry = Pick<StoredMessage, 'to' | 'ring' | 'stamp'>

/** A row that was dropped from its ring. */
interface Dropped {
  readonly rows: Rows
  readonly stamp: number
}

/** The rings of a file, and the senders of the messages that each station had at the start. */
export interface OpenedRingIndex {
  readonly rings: RingIndex
  readonly senders: Map<StationKey, Set<string>>
}

/** Reads the rings from the file, and fits the file to the ring size in `settings`. */
export async function openRingIndex(connection: Connection, settings: HistorySettings): Promise<OpenedRingIndex> {
  const { perStation } = settings
  const { stations, senders, newest } = await loadRows(connection, perStation)
  const rings = new MemoryRingIndex(stations, newest, perStation, horizonsMs(settings).longest)
  return { senders, rings }
}

/**
 * The ring index in memory.
 *
 * Each row of a station is in its ring, or was dropped from it: the first `droppedAt.length` entries of `times`. `add`
 * may drop the oldest row. A sweep deletes dropped rows; `discard` deletes any rows.
 *
 * `#dropped` orders dropped rows by stamp, from their commit on. A sweep skips rows in it that `discard` has deleted.
 * Every change registers how a rollback undoes it.
 *
 * Public methods are arrow functions, because callers pass them on as plain functions.
 */
class MemoryRingIndex implements RingIndex {
  readonly #stations: Map<StationKey, Rows>
  readonly #startedAt: number
  readonly #perStation: number
  readonly #longestMs: number
  readonly #firstAtStart: ReadonlyMap<StationKey, number>
  readonly #dropped = new FlatQueue<Rows>()

  /**
   * `startedAt`: the newest stamp in the file. `longestMs`: the time for which duplicates of a message are recognized.
   */
  constructor(stations: Map<StationKey, Rows>, startedAt: number, perStation: number, longestMs: number) {
    this.#stations = stations
    this.#startedAt = startedAt
    this.#perStation = perStation
    this.#longestMs = longestMs
    this.#firstAtStart = new Map(
      [...stations].map(([key, { times, droppedAt }]) => [key, times[droppedAt.length] ?? startedAt + 1]),
    )
    for (const rows of stations.values())
      for (const stamp of rows.times.slice(0, rows.droppedAt.length)) this.#dropped.push(rows, stamp)
  }

  readonly newer = (station: StationKey, since: number): readonly number[] => {
    const rows = this.#stations.get(station)
    return rows ? rows.times.slice(Math.max(rows.droppedAt.length, firstNewer(rows.times, since))) : []
  }

  readonly newest = (station: StationKey): number => Math.max(0, this.#stations.get(station)?.times.at(-1) ?? 0)

  readonly newestDropped = (station: StationKey): number => {
    const rows = this.#stations.get(station)
    return rows ? newestDropped(rows) : 0
  }

  readonly hasOtherSsids = (station: StationKey): boolean => {
    const rows = this.#stations.get(station)
    return (
      rows !== undefined && rows.newestOtherSsid >= (rows.times[rows.droppedAt.length] ?? 0) && rows.newestOtherSsid > 0
    )
  }

  readonly keys = (): IterableIterator<StationKey> => this.#stations.keys()

  readonly fromBefore = (station: StationKey): readonly number[] => {
    const times = this.#stations.get(station)?.times ?? []
    const first = this.#firstAtStart.get(station) ?? this.#startedAt
    return times.slice(firstNewer(times, first - 1), firstNewer(times, this.#startedAt))
  }

  readonly dropped = (): readonly number[] =>
    [...this.#stations.values()]
      .flatMap(({ times, droppedAt }) => times.slice(0, droppedAt.length))
      .sort((a, b) => a - b)

  readonly add: RingIndex['add'] = (tx, messages, now) => {
    const leaving = messages.map((message) => this.#addOne(message, now))
    tx.onRollback(() => {
      for (const [index, message] of [...messages.entries()].reverse()) this.#takeBack(ringOf(message), leaving[index])
    })
    tx.onCommit(() => {
      for (const row of leaving) if (row) this.#dropped.push(row.rows, row.stamp)
    })
  }

  readonly sweepFor: RingIndex['sweepFor'] = async (tx, now, coming) => {
    const most = coming < MANY ? SWEPT_AT_ONCE : coming
    if (this.#dropped.length >= MAX_DROPPED + most) await this.#sweep(tx, now, most)
  }

  readonly isSweepable = (now: number): boolean => this.#nextSurplus(now) !== undefined

  readonly sweep = (tx: Transaction, now: number): Promise<void> => this.#sweep(tx, now, SWEPT_AT_ONCE)

  readonly discard: RingIndex['discard'] = async (tx, keys, atMost = Number.POSITIVE_INFINITY) => {
    const deleted = keys.flatMap((key) => {
      const rows = this.#stations.get(key)
      if (!rows) return []
      const first = cut(tx, rows, atMost)
      if (rows.times.length > 0) return first
      this.#stations.delete(key)
      tx.onRollback(() => this.#stations.set(key, rows))
      return first
    })
    if (deleted.length > 0) await tx.all(DELETE, JSON.stringify(deleted))
    return deleted.length
  }

  /** Adds a row to its ring. If the ring was full, drops the oldest row of the ring and returns that row. */
  #addOne(message: RingEntry, now: number): Dropped | undefined {
    const { stamp, ring } = message
    const key = ringOf(message)
    const rows = this.#stations.get(key) ?? this.#createRows(key)
    rows.times.push(stamp)
    if (ring !== undefined) rows.newestOtherSsid = stamp
    const first = rows.droppedAt.length
    if (rows.times.length - first <= this.#perStation) return undefined
    rows.droppedAt.push(now)
    return { rows, stamp: rows.times[first] as number }
  }

  #takeBack(key: StationKey, leaving: Dropped | undefined): void {
    const rows = this.#stations.get(key)
    if (!rows) return
    rows.times.pop()
    if (rows.times.length === 0) this.#stations.delete(key)
    if (leaving) rows.droppedAt.pop()
  }

  #createRows(key: StationKey): Rows {
    const rows = { station: key, times: [], droppedAt: [], deletedThrough: 0, newestOtherSsid: 0 }
    this.#stations.set(key, rows)
    return rows
  }

  /**
   * Returns the oldest dropped row if there are too many, it has expired at `now`, or it is no longer in the file.
   *
   * @param swept number of rows of each station that this sweep has already taken
   */
  #nextSurplus(now: number, swept?: ReadonlyMap<Rows, number>): Dropped | undefined {
    const rows = this.#dropped.peek()
    const stamp = this.#dropped.peekValue()
    if (!rows || stamp === undefined) return undefined
    const index = swept?.get(rows) ?? 0
    const isDeleted = rows.times[index] !== stamp
    // Compares the absolute difference of the times. Otherwise, rows that were dropped while the clock was ahead would
    // stay too long.
    const isExpired = Math.abs(now - (rows.droppedAt[index] ?? now)) >= this.#longestMs
    return isDeleted || isExpired || this.#dropped.length > MAX_DROPPED ? { rows, stamp } : undefined
  }

  async #sweep(tx: Transaction, now: number, most: number): Promise<void> {
    const surplus: Dropped[] = []
    const counts = new Map<Rows, number>()
    for (let row = this.#nextSurplus(now); row && surplus.length < most; row = this.#nextSurplus(now, counts)) {
      surplus.push(row)
      this.#dropped.pop()
      const count = counts.get(row.rows) ?? 0
      if (row.rows.times[count] === row.stamp) counts.set(row.rows, count + 1)
    }
    tx.onRollback(() => {
      for (const { rows, stamp } of surplus) this.#dropped.push(rows, stamp)
    })
    const deleted = [...counts].flatMap(([rows, count]) => cutDropped(tx, rows, count))
    if (deleted.length === 0) return
    await tx.all(DELETE, JSON.stringify(deleted))
    // `deletedThrough` is written only for a station without dropped rows in the file. Otherwise, a start uses the
    // newest dropped row instead.
    const through = [...counts.keys()]
      .filter(({ droppedAt }) => droppedAt.length === 0)
      .map(({ station, deletedThrough }) => [station, deletedThrough])
    if (through.length > 0) await tx.all(SET_DELETED_THROUGH, JSON.stringify(through))
  }
}

/** Like {@link cut}, for rows that were dropped from their ring. Also updates `deletedThrough`. */
function cutDropped(tx: Transaction, rows: Rows, count: number): readonly number[] {
  const times = cut(tx, rows, count)
  const former = rows.deletedThrough
  rows.deletedThrough = times.reduce((newest, time) => Math.max(newest, stampOfRow(time)), former)
  tx.onRollback(() => {
    rows.deletedThrough = former
  })
  return times
}

/**
 * Removes the first `count` rows of a station from the index and returns their stamps. A rollback of `tx` restores
 * them.
 */
function cut(tx: Transaction, rows: Rows, count: number): readonly number[] {
  const times = rows.times.splice(0, count)
  const droppedAt = rows.droppedAt.splice(0, count)
  tx.onRollback(() => {
    rows.times = times.concat(rows.times)
    rows.droppedAt = droppedAt.concat(rows.droppedAt)
  })
  return times
}
