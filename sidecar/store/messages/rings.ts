import TinyQueue from 'tinyqueue'
import type { HistorySettings } from '../../config/settings.ts'
import { firstNewer } from '../../messages/first-newer.ts'
import type { StationKey } from '../../messages/store.ts'
import type { Connection } from '../database/connection.ts'
import type { Transaction } from '../database/database.ts'
import { horizonsMs } from './duplicate-horizons.ts'
import { droppedBefore, loadRows, type Rows } from './load-rows.ts'

/** Rows that rings have dropped: 11 MB, as many as there are marks for. Beyond it the oldest go. */
const MOST_DROPPED = 100_000
/**
 * What goes, goes many at a time, and the oldest first, whenever it was dropped: those are neighbours in the file, of which whole pages
 * fall free. In the order of dropping it was seven times as much to write where stations get as it comes.
 */
const SWEPT_AT_ONCE = 1000
/** Where so many come together, as many go with them: the pages that fall free are taken at once, and written once. */
const MANY = 250
const DELETE = 'DELETE FROM message WHERE time IN (SELECT value FROM json_each(?))'

/**
 * Where in the file each station's messages are: their stamps, which are their keys. Changed with the transaction in progress, and
 * changed back when that fails; who looks between transactions sees what is in the file.
 */
export interface Rings {
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
  add(tx: Transaction, messages: readonly { readonly to: StationKey; readonly time: number }[], now: number): void
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
  readonly time: number
  readonly rows: Rows
  /** By the wall clock, in milliseconds. */
  readonly at: number
}

/** The rings of a file, and of each station who wrote to it before the start. */
export interface OpenedRings {
  readonly rings: Rings
  readonly senders: Map<StationKey, Set<string>>
}

/** Reads them from the file, which is fitted to the size of rings in `settings`. */
export async function openRings(connection: Connection, settings: HistorySettings): Promise<OpenedRings> {
  const { perStation } = settings
  const { numbered, unnumbered } = horizonsMs(settings)
  const longestMs = Math.max(numbered, unnumbered)
  const { stations, senders, newest: startedAt } = await loadRows(connection, perStation)
  const firstAtStart = new Map([...stations].map(([key, { times, dropped }]) => [key, times[dropped] ?? startedAt + 1]))

  /** The oldest first. Of stations that were removed it may have what is in the file no more. */
  const dropped = new TinyQueue<Dropped>([], (one, other) => one.time - other.time)
  for (const one of await droppedBefore(connection, stations)) dropped.push(one)

  /** Returns what the ring has dropped for it. */
  function addOne(key: StationKey, time: number, now: number): Dropped | undefined {
    const rows = stations.get(key) ?? newRows(key)
    rows.times.push(time)
    if (rows.times.length - rows.dropped <= perStation) return undefined
    rows.dropped += 1
    return { time: rows.times[rows.dropped - 1] as number, rows, at: now }
  }

  function takeBack(key: StationKey, one: Dropped | undefined): void {
    const rows = stations.get(key)
    if (!rows) return
    rows.times.pop()
    if (rows.times.length === 0) stations.delete(key)
    if (one) rows.dropped -= 1
  }

  function newRows(key: StationKey): Rows {
    const rows = { times: [], dropped: 0 }
    stations.set(key, rows)
    return rows
  }

  function isOver(one: Dropped | undefined, now: number): boolean {
    // In either direction, so that a clock that was wrong for a while leaves nothing behind.
    return one !== undefined && (dropped.length > MOST_DROPPED || Math.abs(now - one.at) >= longestMs)
  }

  /** Takes the first `count` rows of a station out; undone when `tx` fails. */
  function cut(tx: Transaction, rows: Rows, count: number): readonly number[] {
    const gone = rows.times.splice(0, count)
    const dropped = Math.min(rows.dropped, gone.length)
    rows.dropped -= dropped
    tx.onRollback(() => {
      rows.times = gone.concat(rows.times)
      rows.dropped += dropped
    })
    return gone
  }

  async function sweep(tx: Transaction, now: number, most: number): Promise<void> {
    const over: Dropped[] = []
    while (over.length < most && isOver(dropped.peek(), now)) over.push(dropped.pop() as Dropped)
    tx.onRollback(() => {
      for (const one of over) dropped.push(one)
    })
    const counts = new Map<Rows, number>()
    for (const { rows, time } of over) {
      const before = counts.get(rows) ?? 0
      if (rows.times[before] === time) counts.set(rows, before + 1)
    }
    const gone = [...counts].flatMap(([rows, count]) => cut(tx, rows, count))
    if (gone.length > 0) await tx.all(DELETE, JSON.stringify(gone))
  }

  return {
    senders,
    rings: {
      newer(station, since) {
        const rows = stations.get(station)
        return rows ? rows.times.slice(Math.max(rows.dropped, firstNewer(rows.times, since))) : []
      },
      newest: (station) => Math.max(0, stations.get(station)?.times.at(-1) ?? 0),
      keys: () => stations.keys(),
      fromBefore(station) {
        const times = stations.get(station)?.times ?? []
        const first = firstAtStart.get(station) ?? startedAt
        return times.slice(firstNewer(times, first - 1), firstNewer(times, startedAt))
      },
      dropped: () =>
        [...stations.values()].flatMap(({ times, dropped }) => times.slice(0, dropped)).sort((a, b) => a - b),
      add(tx, messages, now) {
        const leaving = messages.map(({ to, time }) => addOne(to, time, now))
        tx.onRollback(() => {
          for (const [index, { to }] of [...messages.entries()].reverse()) takeBack(to, leaving[index])
        })
        tx.onCommit(() => {
          for (const one of leaving) if (one) dropped.push(one)
        })
      },
      async sweepFor(tx, now, coming) {
        const most = coming < MANY ? SWEPT_AT_ONCE : coming
        if (dropped.length >= MOST_DROPPED + most) await sweep(tx, now, most)
      },
      isSweepable: (now) => isOver(dropped.peek(), now),
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
