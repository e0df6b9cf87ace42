import type { Clock } from '../../clock.ts'
import type { HistorySettings } from '../../config/settings.ts'
import type { Log } from '../../log.ts'
import type {
  AppendOutcome,
  Feed,
  HeardMessage,
  History,
  IncomingMessage,
  StationKey,
  Stations,
  StoredMessage,
} from '../../messages/store.ts'
import type { Connection, Queries } from '../database/connection.ts'
import type { Database, Transaction, Write } from '../database/database.ts'
import type { Stamps } from '../server-time.ts'
import { StoreError } from '../store-error.ts'
import type { AckClaims } from './acks.ts'
import { type Duplicates, horizonsMs } from './duplicates.ts'

// How often a sync tries again when its stamp was taken by others between reserving and reading.
const SYNC_ATTEMPTS = 5

// A whole transaction's messages in one statement: 50,000 and more a second where one statement each would make a few
// thousand, since each costs a trip to libuv's pool. Text travels as hex, as JSON knows no bytes. The rows are inserted
// one after the other in this order, and the triggers below see each one's predecessors.
const INSERT = `
  INSERT INTO message (station, time, source, seq_id, text, received_at)
  SELECT row.value ->> 0, row.value ->> 1, row.value ->> 2, row.value ->> 3, unhex(row.value ->> 4), ?2
  FROM json_each(?1) AS row CROSS JOIN station ON station.key = row.value ->> 0
  ORDER BY row.key
  RETURNING time`

// One string instead of a row object for each message, and sorted here, where it nearly always is already: twice as fast.
const SINCE = `
  SELECT json_group_array(json_array(time, source, seq_id, hex(text))) AS messages
  FROM message WHERE station = ? AND time > ?`

const TRIM = `
  DELETE FROM message WHERE (station, time) IN (
    SELECT station, time FROM
      (SELECT station, time, row_number() OVER (PARTITION BY station ORDER BY time DESC) AS place FROM message)
    WHERE place > ?)`

interface HistoryOptions {
  readonly settings: HistorySettings
  readonly stations: Pick<Stations, 'get'>
  readonly duplicates: Duplicates
  readonly acks: AckClaims
  readonly clock: Clock
  readonly log: Log
}

/** What became of a message: stored as this, or not. */
type Fate = StoredMessage | 'duplicate' | 'no_station'

/** The ring of each station, and the feed of all. `connection` is only used before the first write, to fit rings and rules to `settings`. */
export async function openHistory(
  connection: Connection,
  database: Database,
  stamps: Stamps,
  { settings, stations, duplicates, acks, clock, log }: HistoryOptions,
): Promise<{ readonly history: History; readonly feed: Feed }> {
  await fitRings(connection, settings.perStation)
  await installRules(connection, settings)
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

  /** Has `look` run while no transaction is in progress: whatever has an older stamp is committed, and a query sees it. */
  async function between<T>(look: (serverTime: number, queries: Queries) => T | Promise<T>): Promise<T> {
    for (let attempt = 0; attempt < SYNC_ATTEMPTS; attempt += 1) {
      await stamps.ready()
      const answer = await database.read(async (queries) => {
        const serverTime = stamps.tryIssue()
        return serverTime === undefined ? undefined : { seen: await look(serverTime, queries) }
      })
      if (answer) return answer.seen
    }
    throw new StoreError('store_overloaded')
  }

  async function insert(tx: Transaction, messages: readonly IncomingMessage[]): Promise<readonly Fate[]> {
    const receivedAt = clock.now()
    const copies = await duplicates.among(tx, messages, receivedAt)
    const first = await stamps.take(tx, messages.length)
    const rows = messages
      .map(({ from, to, seqId, text }, index) => [to, first + index, from, seqId, text.toString('hex')])
      .filter((_, index) => !copies[index])
    const inserted = rows.length === 0 ? [] : await tx.all<{ time: number }>(INSERT, JSON.stringify(rows), receivedAt)
    const stored = new Set(inserted.map(({ time }) => time))
    return messages.map(({ from, to, seqId, text }, index) => {
      const time = first + index
      if (copies[index]) return 'duplicate'
      return stored.has(time) ? { from, to, seqId, text, time } : 'no_station'
    })
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

  function outcomeOf(message: HeardMessage, fate: Fate, mayAck: boolean): AppendOutcome {
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
      return fates.map((fate, index) => outcomeOf(messages[index] as HeardMessage, fate, mayAck))
    },

    since: (station, since) =>
      between(async (serverTime, queries) => {
        if (!stations.get(station)) return undefined
        const [found] = await queries.all<{ messages: string }>(SINCE, station, since)
        return { messages: parseMessages(station, found?.messages ?? '[]'), serverTime }
      }),

    perStation: settings.perStation,
  }

  const feed: Feed = {
    async view(look) {
      database.assertOpen()
      const serverTime = stamps.tryIssue()
      return serverTime === undefined ? between(look) : look(serverTime)
    },

    onStored(listener) {
      listeners.push(listener)
    },
  }

  return { history, feed }
}

/** A file that was last used with larger rings has more than it should. */
async function fitRings(connection: Connection, perStation: number): Promise<void> {
  const [state] = await connection.all<{ perStation: number }>('SELECT per_station AS perStation FROM state')
  if (state?.perStation === perStation) return
  // In this order: interrupted between the two, it is done again at the next start.
  if (state && perStation < state.perStation) await connection.all(TRIM, perStation)
  await connection.all('UPDATE state SET per_station = ?', perStation)
}

/**
 * Overflow is judged row by row inside the insert, so that it holds within a batch as it does between batches: each row that is one
 * too many drops the oldest. The triggers are temporary: they carry the settings, and another start may have others.
 */
async function installRules(connection: Connection, settings: HistorySettings): Promise<void> {
  const horizons = horizonsMs(settings)
  await connection.exec(`
    CREATE TEMP TRIGGER drop_oldest AFTER INSERT ON message
    WHEN EXISTS (SELECT 1 FROM message WHERE station = NEW.station LIMIT 1 OFFSET ${integer(settings.perStation)})
    BEGIN
      INSERT INTO dropped (station, source, seq_id, text, received_at)
        SELECT station, source, seq_id, text, received_at
        FROM (SELECT * FROM message WHERE station = NEW.station ORDER BY time LIMIT 1)
        WHERE abs(NEW.received_at - received_at) < iif(seq_id = '', ${integer(horizons.unnumbered)}, ${integer(horizons.numbered)});
      DELETE FROM message
        WHERE station = NEW.station AND time = (SELECT min(time) FROM message WHERE station = NEW.station);
    END;

    CREATE TEMP TRIGGER forget_dropped AFTER DELETE ON station
    BEGIN
      DELETE FROM dropped WHERE station = OLD.key;
    END;`)
}

// Triggers take no bound values.
function integer(value: number): string {
  return BigInt(Math.round(value)).toString()
}

function parseMessages(station: StationKey, json: string): readonly StoredMessage[] {
  const rows = JSON.parse(json) as readonly (readonly [time: number, source: string, seqId: string, hex: string])[]
  return rows
    .map(([time, from, seqId, hex]) => ({ from, to: station, seqId, text: Buffer.from(hex, 'hex'), time }))
    .sort((one, other) => one.time - other.time)
}
