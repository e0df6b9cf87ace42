import { hash, randomBytes } from 'node:crypto'
import { contentEnd, messageNumber } from '../../aprs/sequence-id.ts'
import type { HistorySettings } from '../../config/settings.ts'
import type { IncomingMessage, StationKey } from '../../messages/store.ts'
import type { Connection } from '../database/connection.ts'
import type { Database, Transaction, Write } from '../database/database.ts'
import type { StationTable } from '../stations.ts'
import { createMarkTable } from './mark-table.ts'

const MS_PER_MINUTE = 60_000
const MS_PER_SECOND = 1000

/** Rows of `dropped`: 10 MB, as many as there are marks for. Beyond it the oldest go. */
const MOST_DROPPED = 100_000
/** How many messages are stored between two looks at that. */
const LOOK_EVERY = 1000
const EXPIRY_SLICE_ROWS = 250
/** Pairs of station and sender. Beyond it all are read again, which changes nothing. */
const MOST_READ = 20_000

const DROPPED = `
  SELECT station, registered_at AS registeredAt, source, seq_id AS seqId, text, received_at AS receivedAt
  FROM dropped JOIN station ON station.key = dropped.station
  ORDER BY dropped.id`

// The newest last, so that it is the one that counts.
const FROM_SENDERS = `
  SELECT message.station, registered_at AS registeredAt, source, seq_id AS seqId, text, received_at AS receivedAt
  FROM json_each(?) AS pair
    CROSS JOIN message ON message.station = pair.value ->> 0 AND message.source = pair.value ->> 1
    CROSS JOIN station ON station.key = message.station
  ORDER BY time`

// The oldest of each station: as many as there may be too many of, once what comes is stored.
const LEAVING = `
  SELECT message.station, registered_at AS registeredAt, source, seq_id AS seqId, text, received_at AS receivedAt
  FROM json_each(?1) AS coming
    CROSS JOIN message ON message.station = coming.value AND time IN (
      SELECT time FROM message WHERE station = coming.value ORDER BY time LIMIT ?2)
    CROSS JOIN station ON station.key = message.station
  ORDER BY time`

const BOUND = `DELETE FROM dropped WHERE id <= (SELECT max(id) FROM dropped) - ${MOST_DROPPED}`

const EXPIRED = 'id IN (SELECT id FROM dropped ORDER BY id LIMIT ?1) AND abs(received_at - ?2) >= ?3'
const HAS_EXPIRED = `SELECT 1 FROM dropped WHERE ${EXPIRED} LIMIT 1`
const EXPIRE = `DELETE FROM dropped WHERE ${EXPIRED} RETURNING 1`

interface MarkRow {
  readonly station: StationKey
  readonly registeredAt: number
  readonly source: string
  readonly seqId: string
  readonly text: Buffer
  readonly receivedAt: number
}

/** Tells copies of messages from news. Two messages are equal when sender, addressee, number and text are. */
export interface Duplicates {
  /**
   * Whether each of `messages`, which `tx` stores at `now` by the wall clock, is a copy of one that was stored lately or that stands
   * before it here. Takes those that are none for stored, unless `tx` is rolled back. Of a station that is not registered nothing is.
   */
  among(tx: Transaction, messages: readonly IncomingMessage[], now: number): Promise<readonly boolean[]>
  /** Deletes what has expired by `now` of what rings have dropped, a slice at most; resolves with whether there may be more. */
  expire(now: number): Promise<boolean>
}

/** How long after a message with a sequence id, and after one without, an equal one is a copy of it; in milliseconds. */
export function horizonsMs({ duplicateMinutes, duplicateSecondsUnnumbered }: HistorySettings) {
  return { numbered: duplicateMinutes * MS_PER_MINUTE, unnumbered: duplicateSecondsUnnumbered * MS_PER_SECOND }
}

/**
 * The marks are in memory; what they are made of is in the file. What rings have dropped is read now, and what rings hold when its
 * sender first writes again, both whatever their age: a machine without a battery for its clock learns the time only after the start.
 */
export async function openDuplicates(
  connection: Connection,
  database: Database,
  stations: Pick<StationTable, 'keys' | 'registeredAt'>,
  settings: HistorySettings,
): Promise<Duplicates> {
  const marks = createMarkTable()
  // So that nobody can choose messages whose marks lie in one heap.
  const secret = randomBytes(9).toString('base64')
  /** Stations that may have messages from before the start, by how many were stored since, and of which senders those are known. */
  const inFile = new Map([...stations.keys()].map((station) => [station, 0]))
  const read = new Set<string>()
  let sinceLook = 0
  const horizons = horizonsMs(settings)
  const longestMs = Math.max(horizons.numbered, horizons.unnumbered)

  /** Another registration of the same station has nothing to do with what came before it. */
  function digestOf(registeredAt: number, to: string, from: string, seqId: string, text: Buffer): number {
    const content = text.toString('latin1')
    const shown = content.slice(0, contentEnd(content))
    const identity = `${secret}\n${registeredAt}\n${to}\n${from}\n${messageNumber(seqId)}\n${shown}`
    return 1 + fiftyTwoBits(hash('sha256', identity, 'binary'))
  }

  function remember({ station, registeredAt, source, seqId, text, receivedAt }: MarkRow): void {
    marks.set(digestOf(registeredAt, station, source, seqId, text), receivedAt)
  }

  /** Of a whole ring, 50 rows or more, a few at most are from one sender: the others may wait until theirs writes again. */
  async function readRings(tx: Transaction, messages: readonly IncomingMessage[]): Promise<void> {
    if (inFile.size === 0) return
    const wanted = new Map<string, readonly [to: string, from: string]>()
    for (const { to, from } of messages) {
      const pair = pairOf(to, from)
      if (inFile.has(to) && !read.has(pair)) wanted.set(pair, [to, from])
    }
    if (wanted.size === 0) return
    for (const row of await tx.all<MarkRow>(FROM_SENDERS, JSON.stringify([...wanted.values()]))) remember(row)
    tx.onCommit(() => {
      if (read.size > MOST_READ) read.clear()
      for (const pair of wanted.keys()) read.add(pair)
    })
  }

  /** What a ring drops now is in it no more when its sender writes again. */
  async function readLeaving(tx: Transaction, messages: readonly IncomingMessage[]): Promise<void> {
    const coming = new Map<StationKey, number>()
    for (const { to } of messages) if (inFile.has(to)) coming.set(to, (coming.get(to) ?? 0) + 1)
    if (coming.size === 0) return
    const most = Math.max(...coming.values())
    for (const row of await tx.all<MarkRow>(LEAVING, JSON.stringify([...coming.keys()]), most)) {
      // Of a sender whose ring was read, something newer may be known.
      if (!read.has(pairOf(row.station, row.source))) remember(row)
    }
  }

  /** A ring that was filled anew holds nothing from before the start. */
  function countStored(messages: readonly IncomingMessage[]): void {
    for (const { to } of messages) {
      const stored = inFile.get(to)
      if (stored === undefined) continue
      if (stored + 1 < settings.perStation) inFile.set(to, stored + 1)
      else inFile.delete(to)
    }
  }

  async function boundDropped(tx: Transaction, messages: number): Promise<void> {
    sinceLook += messages
    if (sinceLook < LOOK_EVERY) return
    sinceLook = 0
    await tx.all(BOUND)
  }

  const expiry: Write<number, number> = {
    async run(tx, times) {
      const removed: number[] = []
      for (const now of times) removed.push((await tx.all(EXPIRE, EXPIRY_SLICE_ROWS, now, longestMs)).length)
      return removed
    },
    weight: () => EXPIRY_SLICE_ROWS,
  }

  for (const row of await connection.all<MarkRow>(DROPPED)) remember(row)

  return {
    async among(tx, messages, now) {
      // In this order: what the rings hold is newer than what leaves them, and the newest counts.
      await readLeaving(tx, messages)
      await readRings(tx, messages)
      await boundDropped(tx, messages.length)
      const before: { digest: number; time: number }[] = []
      tx.onRollback(() => {
        for (const { digest, time } of before.reverse()) marks.set(digest, time)
      })
      const copies = messages.map(({ from, to, seqId, text }) => {
        const registeredAt = stations.registeredAt(to)
        if (registeredAt === undefined) return false
        const digest = digestOf(registeredAt, to, from, seqId, text)
        // However long ago it seems, in either direction: a clock that was wrong for a while leaves nothing behind.
        const time = marks.get(digest) ?? Number.NEGATIVE_INFINITY
        if (Math.abs(now - time) < (seqId === '' ? horizons.unnumbered : horizons.numbered)) return true
        before.push({ digest, time })
        marks.set(digest, now)
        return false
      })
      tx.onCommit(() => countStored(messages.filter((_, index) => !copies[index])))
      return copies
    },
    async expire(now) {
      // Nearly always there is nothing, and to look costs no write.
      const found = await database.read((queries) => queries.all(HAS_EXPIRED, EXPIRY_SLICE_ROWS, now, longestMs))
      return found.length > 0 && (await database.write(expiry, now)) === EXPIRY_SLICE_ROWS
    },
  }
}

// No call has a blank in it.
function pairOf(to: StationKey, from: string): string {
  return `${to} ${from}`
}

function fiftyTwoBits(bytes: string): number {
  let bits = bytes.charCodeAt(0) & 0xf
  for (let at = 1; at < 7; at += 1) bits = bits * 256 + bytes.charCodeAt(at)
  return bits
}
