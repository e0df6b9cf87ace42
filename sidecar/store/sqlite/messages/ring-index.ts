import FlatQueue from 'flatqueue'
import type { HistorySettings } from '../../../config/settings.ts'
import { horizonsMs } from '../../../messages/duplicate-horizons.ts'
import { firstNewer } from '../../../messages/first-newer.ts'
import type { StationKey } from '../../../messages/store.ts'
import type { Connection } from '../database/connection.ts'
import type { Transaction } from '../database/database.ts'
import { loadRows, type Rows } from './load-rows.ts'

/** Rows that rings have dropped: 11 MB, as many as there are marks for. Beyond it the oldest go. */
const MOST_DROPPED = 100_000
/**
 * What goes, goes many at a time, and the oldest first, whenever it was dropped: those are neighbours in the file, of
 * which whole pages fall free. In the order of dropping it was seven times as much to write where stations get as it
 * comes.
 */
const SWEPT_AT_ONCE = 1000
/** Where so many come together, as many go with them: the pages that fall free are taken at once, and written once. */
const MANY = 250
const DELETE = 'DELETE FROM message WHERE time IN (SELECT value FROM json_each(?))'

/**
 * Where in the file each station's messages are: their stamps, which are their keys. Changed with the transaction in
 * progress, and changed back when that fails; who looks between transactions sees what is in the file.
 */
export interface RingIndex {
  /** Stamps of the messages in a station's ring that are strictly newer than `since`, oldest first. */
  newer(station: StationKey, since: number): readonly number[]
  /** The stamp of its newest message; 0 where it has none. */
  newest(station: StationKey): number
  /** All that have rows. */
  keys(): IterableIterator<StationKey>
  /** What was in a station's ring at the start, and is still in the file. */
  fromBefore(station: StationKey): readonly number[]
  /** Stamps of everything in the file that rings have dropped, oldest first. */
  dropped(): readonly number[]
  /** `tx` stores these at `now` by the wall clock. Of more than a ring has room for, the oldest are dropped from it. */
  add(tx: Transaction, messages: readonly { readonly to: StationKey; readonly stamp: number }[], now: number): void
  /** Deletes of what was dropped what is too much, if it is enough where so many rows are `coming`. */
  sweepFor(tx: Transaction, now: number, coming: number): Promise<void>
  /** Whether {@link sweep} would find anything. */
  isSweepable(now: number): boolean
  /** Deletes of what was dropped what has expired at `now`, or is too much: a slice at most. */
  sweep(tx: Transaction, now: number): Promise<void>
  /** Deletes what stations have, of each at most so many rows; resolves with how many they were. */
  discard(tx: Transaction, stations: readonly StationKey[], atMost?: number): Promise<number>
}

/** A row that a ring has dropped. */
interface Dropped {
  readonly rows: Rows
  readonly time: number
}

/** The rings of a file, and of each station who wrote to it before the start. */
export interface OpenedRingIndex {
  readonly rings: RingIndex
  readonly senders: Map<StationKey, Set<string>>
}

/** Reads them from the file, which is fitted to the size of rings in `settings`. */
export async function openRingIndex(connection: Connection, settings: HistorySettings): Promise<OpenedRingIndex> {
  const { perStation } = settings
  const { longest: longestMs } = horizonsMs(settings)
  const { stations, senders, newest: startedAt } = await loadRows(connection, perStation)
  const firstAtStart = new Map(
    [...stations].map(([key, { times, droppedAt }]) => [key, times[droppedAt.length] ?? startedAt + 1]),
  )

  /** Whose row it is, by its stamp. Of stations that were removed it may have what is in the file no more. */
  const dropped = new FlatQueue<Rows>()
  for (const rows of stations.values())
    for (const time of rows.times.slice(0, rows.droppedAt.length)) dropped.push(rows, time)

  /** Returns what the ring has dropped for it. */
  function addOne(key: StationKey, time: number, now: number): Dropped | undefined {
    const rows = stations.get(key) ?? newRows(key)
    rows.times.push(time)
    const first = rows.droppedAt.length
    if (rows.times.length - first <= perStation) return undefined
    rows.droppedAt.push(now)
    return { rows, time: rows.times[first] as number }
  }

  function takeBack(key: StationKey, leaving: Dropped | undefined): void {
    const rows = stations.get(key)
    if (!rows) return
    rows.times.pop()
    if (rows.times.length === 0) stations.delete(key)
    if (leaving) rows.droppedAt.pop()
  }

  function newRows(key: StationKey): Rows {
    const rows = { times: [], droppedAt: [] }
    stations.set(key, rows)
    return rows
  }

  /**
   * Of what was dropped and is too much, or has expired at `now`, or is in the file no more, the oldest; undefined when
   * there is none.
   */
  function nextOver(now: number, taken?: ReadonlyMap<Rows, number>): Dropped | undefined {
    const rows = dropped.peek()
    const time = dropped.peekValue()
    if (!rows || time === undefined) return undefined
    const index = taken?.get(rows) ?? 0
    const gone = rows.times[index] !== time
    // In either direction, so that a clock that was wrong for a while leaves nothing behind.
    const expired = Math.abs(now - (rows.droppedAt[index] ?? now)) >= longestMs
    return gone || expired || dropped.length > MOST_DROPPED ? { rows, time } : undefined
  }

  /** Takes the first `count` rows of a station out; undone when `tx` fails. */
  function cut(tx: Transaction, rows: Rows, count: number): readonly number[] {
    const gone = rows.times.splice(0, count)
    const droppedAt = rows.droppedAt.splice(0, count)
    tx.onRollback(() => {
      rows.times = gone.concat(rows.times)
      rows.droppedAt = droppedAt.concat(rows.droppedAt)
    })
    return gone
  }

  async function sweep(tx: Transaction, now: number, most: number): Promise<void> {
    const over: Dropped[] = []
    const counts = new Map<Rows, number>()
    for (let one = nextOver(now, counts); one && over.length < most; one = nextOver(now, counts)) {
      over.push(one)
      dropped.pop()
      const before = counts.get(one.rows) ?? 0
      if (one.rows.times[before] === one.time) counts.set(one.rows, before + 1)
    }
    tx.onRollback(() => {
      for (const { rows, time } of over) dropped.push(rows, time)
    })
    const gone = [...counts].flatMap(([rows, count]) => cut(tx, rows, count))
    if (gone.length > 0) await tx.all(DELETE, JSON.stringify(gone))
  }

  return {
    senders,
    rings: {
      newer(station, since) {
        const rows = stations.get(station)
        return rows ? rows.times.slice(Math.max(rows.droppedAt.length, firstNewer(rows.times, since))) : []
      },
      newest: (station) => Math.max(0, stations.get(station)?.times.at(-1) ?? 0),
      keys: () => stations.keys(),
      fromBefore(station) {
        const times = stations.get(station)?.times ?? []
        const first = firstAtStart.get(station) ?? startedAt
        return times.slice(firstNewer(times, first - 1), firstNewer(times, startedAt))
      },
      dropped: () =>
        [...stations.values()]
          .flatMap(({ times, droppedAt }) => times.slice(0, droppedAt.length))
          .sort((a, b) => a - b),
      add(tx, messages, now) {
        const leaving = messages.map(({ to, stamp }) => addOne(to, stamp, now))
        tx.onRollback(() => {
          for (const [index, { to }] of [...messages.entries()].reverse()) takeBack(to, leaving[index])
        })
        tx.onCommit(() => {
          for (const one of leaving) if (one) dropped.push(one.rows, one.time)
        })
      },
      async sweepFor(tx, now, coming) {
        const most = coming < MANY ? SWEPT_AT_ONCE : coming
        if (dropped.length >= MOST_DROPPED + most) await sweep(tx, now, most)
      },
      isSweepable: (now) => nextOver(now) !== undefined,
      sweep: (tx, now) => sweep(tx, now, SWEPT_AT_ONCE),
      async discard(tx, keys, atMost = Number.POSITIVE_INFINITY) {
        const gone = keys.flatMap((key) => {
          const rows = stations.get(key)
          if (!rows) return []
          const first = cut(tx, rows, atMost)
          if (rows.times.length > 0) return first
          stations.delete(key)
          tx.onRollback(() => stations.set(key, rows))
          return first
        })
        if (gone.length > 0) await tx.all(DELETE, JSON.stringify(gone))
        return gone.length
      },
    },
  }
}
