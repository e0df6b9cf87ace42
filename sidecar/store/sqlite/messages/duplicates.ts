import { hash, randomBytes } from 'node:crypto'
import { contentEnd, messageNumber } from '../../../aprs/sequence-id.ts'
import type { HistorySettings } from '../../../config/settings.ts'
import { horizonsMs } from '../../../messages/duplicate-horizons.ts'
import type { IncomingMessage, StationKey } from '../../../messages/store.ts'
import type { Connection } from '../database/connection.ts'
import type { Transaction } from '../database/database.ts'
import type { OpenedRingIndex } from './ring-index.ts'
import type { StationTable } from './stations.ts'

/**
 * More than the messages that the whole network carries in two hours. At least the newest so many are remembered, and
 * at most twice as many, in 15 MB.
 */
const MOST_MARKS = 98_304

/** Read at a time at the start. */
const PAGE_ROWS = 10_000

// One string instead of a row object for each message: half the time of a start.
const MARKS = 'SELECT json_group_array(json_array(station, source, seq_id, hex(text), received_at)) AS marks FROM'

// The newest last, so that it is the one that counts.
const DROPPED = `${MARKS} (SELECT * FROM message WHERE time IN (SELECT value FROM json_each(?)) ORDER BY time)`

const FROM_SENDERS = `
  ${MARKS} (
    SELECT message.*
    FROM json_each(?) AS pair
      CROSS JOIN json_each(pair.value, '$[1]') AS row
      CROSS JOIN message ON message.time = row.value AND message.source = pair.value ->> 0
    ORDER BY time)`

type Mark = readonly [station: StationKey, source: string, seqId: string, hex: string, receivedAt: number]

interface MarksRow {
  /** JSON of an array of {@link Mark}. */
  readonly marks: string
}

/** Tells copies of messages from news. Two messages are equal when sender, addressee, number and text are. */
export interface Duplicates {
  /**
   * Whether each of `messages`, which `tx` stores at `now` by the wall clock, is a copy of one that was stored lately
   * or that stands before it here. Takes those that are none for stored, unless `tx` is rolled back. Of a station that
   * is not registered nothing is.
   */
  among(tx: Transaction, messages: readonly IncomingMessage[], now: number): Promise<readonly boolean[]>
}

/**
 * The marks are in memory; what they are made of is in the file. What rings have dropped is read now, and what rings
 * hold when its sender first writes again, both whatever their age: a machine without a battery for its clock learns
 * the time only after the start.
 */
export async function openDuplicates(
  connection: Connection,
  { rings, senders }: OpenedRingIndex,
  stations: Pick<StationTable, 'registeredAt'>,
  settings: HistorySettings,
): Promise<Duplicates> {
  // When each was stored last, by its digest. When the young ones are as many as may be, the old ones are forgotten all
  // at once: nothing in here depends on what a clock says.
  let young = new Map<string, number>()
  let old = young
  // So that nobody can look for two messages of one digest beforehand.
  const secret = randomBytes(9).toString('base64')
  const horizons = horizonsMs(settings)

  /** Another registration of the same station has nothing to do with what came before it. */
  function digestOf(registeredAt: number, to: string, from: string, seqId: string, text: Buffer): string {
    const content = text.toString('latin1')
    const shown = content.slice(0, contentEnd(content))
    const identity = `${secret}\n${registeredAt}\n${to}\n${from}\n${messageNumber(seqId)}\n${shown}`
    return hash('sha256', identity, 'binary').slice(0, 8)
  }

  function mark(digest: string, time: number): void {
    if (young.size >= MOST_MARKS) {
      old = young
      young = new Map()
    }
    young.set(digest, time)
  }

  function remember([found]: readonly MarksRow[]): void {
    for (const [station, source, seqId, hex, receivedAt] of JSON.parse(found?.marks ?? '[]') as readonly Mark[]) {
      const registeredAt = stations.registeredAt(station)
      if (registeredAt === undefined) continue
      mark(digestOf(registeredAt, station, source, seqId, Buffer.from(hex, 'hex')), receivedAt)
    }
  }

  /**
   * Of a whole ring, 50 rows or more, a few at most are from one sender: the others may wait until theirs writes again.
   */
  async function readRings(tx: Transaction, messages: readonly IncomingMessage[]): Promise<void> {
    const wanted = messages.filter(({ to, from }) => senders.get(to)?.has(from))
    if (wanted.length === 0) return
    const pairs = wanted.map(({ to, from }) => [from, rings.fromBefore(to)])
    remember(await tx.look<MarksRow>(FROM_SENDERS, JSON.stringify(pairs)))
    tx.onCommit(() => {
      for (const { to, from } of wanted) {
        const left = senders.get(to)
        left?.delete(from)
        if (left?.size === 0) senders.delete(to)
      }
    })
  }

  const dropped = rings.dropped()
  for (let first = 0; first < dropped.length; first += PAGE_ROWS) {
    remember(await connection.all<MarksRow>(DROPPED, JSON.stringify(dropped.slice(first, first + PAGE_ROWS))))
  }

  return {
    async among(tx, messages, now) {
      await readRings(tx, messages)
      const before: { digest: string; time: number }[] = []
      tx.onRollback(() => {
        for (const { digest, time } of before) mark(digest, time)
      })
      const copies = messages.map(({ from, to, seqId, text }) => {
        const registeredAt = stations.registeredAt(to)
        if (registeredAt === undefined) return false
        const digest = digestOf(registeredAt, to, from, seqId, text)
        // However long ago it seems, in either direction: a clock that was wrong for a while leaves nothing behind.
        const time = young.get(digest) ?? old.get(digest) ?? Number.NEGATIVE_INFINITY
        if (Math.abs(now - time) < (seqId === '' ? horizons.unnumbered : horizons.numbered)) return true
        before.push({ digest, time })
        mark(digest, now)
        return false
      })
      return copies
    },
  }
}
