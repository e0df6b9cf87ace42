import type { Clock } from '../../../clock.ts'
import type { HistorySettings } from '../../../config/settings.ts'
import {
  ackIdentity,
  MAX_RECEIVED_ACKS,
  type ReceivedAck,
  type ReceivedAcks,
  type StoredAck,
} from '../../../messages/acks/received-acks.ts'
import { horizonsMs } from '../../../messages/duplicate-horizons.ts'
import { wantsReceivedAcks } from '../../../messages/station.ts'
import type { StationKey, Stations } from '../../../messages/store.ts'
import type { Queries } from '../database/connection.ts'
import type { Database, Transaction, Write } from '../database/database.ts'

const NEWEST = 'SELECT station, max(time) AS stamp FROM ack GROUP BY station'
const OF_STATIONS = `
  SELECT station AS "to", source AS "from", seq_id AS seqId, kind, received_at AS receivedAt FROM ack
  WHERE station IN (SELECT value FROM json_each(?))`
const NEWER = `
  SELECT time AS stamp, station AS "to", source AS "from", seq_id AS seqId, kind FROM ack
  WHERE station = ? AND time > ? ORDER BY time`
const INSERT = `
  INSERT INTO ack (time, station, source, seq_id, kind, received_at)
  SELECT row.value ->> 0, row.value ->> 1, row.value ->> 2, row.value ->> 3, row.value ->> 4, ?2
  FROM json_each(?1) AS row`
const TRIM = `
  DELETE FROM ack WHERE time IN (
    SELECT time FROM (
      SELECT time, row_number() OVER (PARTITION BY station ORDER BY time DESC) AS place
      FROM ack WHERE station IN (SELECT value FROM json_each(?)))
    WHERE place > ${MAX_RECEIVED_ACKS})`

/** The interface of the received acks for other modules of the store. */
export interface AckTable extends ReceivedAcks {
  /** Returns the stamp of the newest ack to the station; 0 if there is none. Includes the transaction in progress. */
  newest(station: StationKey): number
  /** Reads the acks to the station that are newer than `since`, oldest first. Call it inside a `Database.read`. */
  newer(queries: Queries, station: StationKey, since: number): Promise<readonly StoredAck[]>
}

interface AckTableParts {
  readonly database: Database
  readonly stations: Pick<Stations, 'get' | 'size'>
  /** The sequence from which acks and messages get their stamps. */
  readonly stamps: {
    take(tx: Transaction, count: number): number
    cover(tx: Transaction): Promise<void>
  }
  readonly history: HistorySettings
  readonly clock: Pick<Clock, 'now'>
}

/** Opens the table of received acks. */
export async function openReceivedAcks(queries: Queries, parts: AckTableParts): Promise<AckTable> {
  const rows = await queries.all<{ station: StationKey; stamp: number }>(NEWEST)
  return new SqliteReceivedAcks(new Map(rows.map(({ station, stamp }) => [station, stamp])), parts)
}

/**
 * Received acks in the file. The stamp of each station's newest one is in memory, including the transaction in
 * progress.
 *
 * Public methods are arrow functions, because callers pass them on as plain functions.
 */
class SqliteReceivedAcks implements AckTable {
  readonly #parts: AckTableParts
  readonly #newest: Map<StationKey, number>
  readonly #horizonMs: number

  constructor(newest: Map<StationKey, number>, parts: AckTableParts) {
    this.#newest = newest
    this.#parts = parts
    this.#horizonMs = horizonsMs(parts.history).numbered
  }

  readonly append: ReceivedAcks['append'] = (acks) => this.#parts.database.write(this.#append, acks)

  readonly newest = (station: StationKey): number => this.#newest.get(station) ?? 0

  readonly newer: AckTable['newer'] = (queries, station, since) => queries.all<StoredAck>(NEWER, station, since)

  readonly #append: Write<readonly ReceivedAck[], number> = {
    weight: (acks) => acks.length,
    run: async (tx, inputs) => {
      const { stamps, clock } = this.#parts
      const receivedAt = clock.now()
      const fresh = await this.#freshOf(tx, inputs, receivedAt)
      const acks = fresh.flat()
      if (acks.length > 0) {
        // Do not `await` between taking the stamps and calling `#setNewest`. Otherwise a reader could get a cursor
        // newer than an ack that it has not received.
        const first = stamps.take(tx, acks.length)
        for (const [index, { to }] of acks.entries()) this.#setNewest(tx, to, first + index)
        await stamps.cover(tx)
        const rows = acks.map(({ from, to, seqId, kind }, index) => [first + index, to, from, seqId, kind])
        await tx.all(INSERT, JSON.stringify(rows), receivedAt)
        await tx.all(TRIM, stationsOf(acks))
      }
      return fresh.map(({ length }) => length)
    },
  }

  /**
   * Returns, for each input, the acks to store: those that a device wants, and that do not repeat a recently received
   * ack.
   */
  async #freshOf(
    tx: Transaction,
    inputs: readonly (readonly ReceivedAck[])[],
    now: number,
  ): Promise<readonly (readonly ReceivedAck[])[]> {
    const stored = await tx.look<ReceivedAck & { readonly receivedAt: number }>(OF_STATIONS, stationsOf(inputs.flat()))
    // Compares the absolute difference of the times. Otherwise, acks that were received while the clock was ahead would
    // count as recent too long.
    const recent = stored.filter(({ receivedAt }) => Math.abs(now - receivedAt) < this.#horizonMs)
    const identities = new Set(recent.map(ackIdentity))
    const isFresh = (ack: ReceivedAck) => {
      const identity = ackIdentity(ack)
      if (identities.has(identity) || !wantsReceivedAcks(this.#parts.stations.get(ack.to))) return false
      identities.add(identity)
      return true
    }
    return inputs.map((acks) => acks.filter(isFresh))
  }

  #setNewest(tx: Transaction, station: StationKey, stamp: number): void {
    const former = this.#newest.get(station)
    this.#newest.set(station, stamp)
    tx.onRollback(() => {
      if (former === undefined) this.#newest.delete(station)
      else this.#newest.set(station, former)
    })
    if (this.#newest.size > this.#parts.stations.size) tx.onCommit(() => this.#forgetRemovedStations())
  }

  #forgetRemovedStations(): void {
    for (const key of this.#newest.keys()) if (!this.#parts.stations.get(key)) this.#newest.delete(key)
  }
}

function stationsOf(acks: readonly ReceivedAck[]): string {
  return JSON.stringify([...new Set(acks.map(({ to }) => to))])
}
