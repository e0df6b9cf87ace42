import { StoreError } from '../../../errors.ts'
import type {
  AckContents,
  ContentCounts,
  Contents,
  DeviceContents,
  DroppedMessage,
  RingMessage,
  StationContents,
} from '../../../messages/contents.ts'
import type { StationKey } from '../../../messages/store.ts'
import { type Connection, connect } from '../database/connection.ts'
import { demandVersion, NEWEST } from '../database/migrations.ts'
import { checkPages } from '../database/open-file.ts'
import { toStoreError } from '../database/sqlite-error.ts'
import { type DeviceColumns, deviceFrom } from '../messages/load-stations.ts'
import { type PushResultColumns, pushResultFrom } from '../messages/push-marks.ts'
import { openRingIndex, type RingIndex } from '../messages/ring-index.ts'

const PAGE_STATIONS = 100
const PAGE_DROPPED = 1000

const STATE = 'SELECT reserved_time AS lastStamp, per_station AS perStation FROM state'

const KEYS = 'SELECT key FROM station'

// Rows of a station that does not exist are not copied. Only manual edits leave such rows.
const OWNED = `
  SELECT (SELECT count(*) FROM device WHERE station IN (SELECT key FROM station)) AS devices,
    (SELECT count(*) FROM avatar WHERE station IN (SELECT key FROM station)) AS avatars`

const STATIONS = `
  SELECT key, registered_at AS registeredAt, proven, icon, hash, updated_at AS updatedAt, image
  FROM station LEFT JOIN avatar ON avatar.station = key
  WHERE key > ? ORDER BY key LIMIT ${PAGE_STATIONS}`

const DEVICES = `
  SELECT station, id, platform, push_token AS pushToken, token_dead AS tokenDead, ack_messages AS ackMessages,
    blocked, want_acks AS wantAcks, any_ssid AS anySsid, registered_at AS registeredAt, last_seen_at AS lastSeenAt,
    pushed_through AS pushedThrough, newest_cursor AS newestCursor, first_token AS firstToken, last_push_at AS lastPushAt,
    last_push_outcome AS lastPushOutcome, last_push_reason AS lastPushReason
  FROM device WHERE station IN (SELECT value FROM json_each(?)) ORDER BY station, id`

const MESSAGES = `
  SELECT station, time AS stamp, source, seq_id AS seqId, text, received_at AS receivedAt, acked_at AS ackedAt,
    addressee
  FROM message WHERE time IN (SELECT value FROM json_each(?)) ORDER BY time`

const ACKS = `
  SELECT station AS "to", time AS stamp, source AS "from", seq_id AS seqId, kind, received_at AS receivedAt FROM ack
  WHERE station IN (SELECT value FROM json_each(?)) ORDER BY time`

const DROPPED = `
  SELECT station, source, seq_id AS seqId, text, received_at AS receivedAt, addressee FROM message
  WHERE time IN (SELECT value FROM json_each(?)) AND station IN (SELECT key FROM station) ORDER BY time`

interface StationRow extends Pick<StationContents, 'key' | 'registeredAt'> {
  readonly proven: number
  readonly icon: string | null
  readonly hash: string
  readonly updatedAt: number
  readonly image: string
}

interface DeviceRow
  extends Omit<DeviceContents, 'tokenDead' | 'ackMessages' | 'options' | 'lastPush'>,
    DeviceColumns,
    PushResultColumns {
  readonly station: StationKey
}

/** The error for a file with an older schema. `remedy` tells the operator what to do. */
export class OutdatedFileError extends Error {
  override readonly name = 'OutdatedFileError'
  readonly remedy = 'Start this version of the sidecar on it once, which brings it up to date, stop it, and try again.'

  constructor() {
    super('The database file was written by an older version of the sidecar.')
  }
}

/** The contents of a file, which stays locked until {@link FileContents.close}. */
export interface FileContents extends Contents {
  /** Releases the file. Never rejects. */
  close(): Promise<void>
}

/**
 * Opens the existing SQLite file `path` for reading, and locks it. Changes nothing, but SQLite checkpoints a log left
 * by a crash.
 *
 * Rejects with an {@link OutdatedFileError} or a {@link StoreError}: `database_locked`, `database_foreign`,
 * `database_outdated`, `database_newer` or `database_corrupt`.
 */
export async function openFileContents(path: string, newest = NEWEST): Promise<FileContents> {
  const connection = await connect(path, 0).catch((error: unknown) => {
    throw toStoreError(error)
  })
  const close = () => connection.close().catch(() => undefined)
  const all = <Row>(...statement: Parameters<Connection['all']>) => reading<Row>(connection, statement)
  try {
    await connection.exec('PRAGMA locking_mode = EXCLUSIVE')
    const version = await demandVersion(connection, newest)
    if (version === 0) throw new StoreError('database_foreign')
    if (version < newest) throw new OutdatedFileError()
    await checkPages(connection)
    const [state] = await all<{ lastStamp: number; perStation: number }>(STATE)
    if (!state) throw new StoreError('database_corrupt')
    const { lastStamp, perStation } = state
    // Use the ring size stored in the file, so that no ring is trimmed.
    const { rings } = await openRingIndex(connection, {
      perStation,
      duplicateMinutes: 0,
      duplicateSecondsUnnumbered: 0,
    })
    const keys = (await all<{ key: StationKey }>(KEYS)).map(({ key }) => key)
    const held = keys.map((key) => rings.newer(key, 0).length)
    const dropped = () => droppedOf({ all }, rings)
    let droppedCount = 0
    for await (const page of dropped()) droppedCount += page.length
    const [owned] = await all<Pick<ContentCounts, 'devices' | 'avatars'>>(OWNED)
    const counts: ContentCounts = {
      stations: keys.length,
      devices: owned?.devices ?? 0,
      avatars: owned?.avatars ?? 0,
      messages: held.reduce((sum, each) => sum + each, 0),
      dropped: droppedCount,
    }
    const fullestRing = held.reduce((most, each) => Math.max(most, each), 0)
    return { lastStamp, fullestRing, counts, stations: () => stationsOf({ all }, rings), dropped, close }
  } catch (error) {
    await close()
    throw error instanceof OutdatedFileError ? error : toStoreError(error)
  }
}

/**
 * Runs a statement and translates errors of SQLite. Otherwise the caller, which writes to another database, would
 * attribute them to that database.
 */
async function reading<Row>(
  connection: Pick<Connection, 'all'>,
  statement: Parameters<Connection['all']>,
): Promise<readonly Row[]> {
  try {
    return await connection.all<Row>(...statement)
  } catch (error) {
    throw toStoreError(error)
  }
}

async function* stationsOf(
  { all }: Pick<Connection, 'all'>,
  ringsInFile: Pick<RingIndex, 'newer' | 'newestDropped'>,
): AsyncGenerator<readonly StationContents[]> {
  for (let last: StationKey | undefined = ''; last !== undefined; ) {
    const rows: readonly StationRow[] = await all<StationRow>(STATIONS, last)
    const keys = rows.map(({ key }) => key)
    const devices = new Map<StationKey, DeviceContents[]>(keys.map((key) => [key, []]))
    for (const row of await all<DeviceRow>(DEVICES, JSON.stringify(keys)))
      devices.get(row.station)?.push(contentsOf(row))
    const acks = await all<AckContents>(ACKS, JSON.stringify(keys))
    const times = JSON.stringify(keys.flatMap((key) => ringsInFile.newer(key, 0)))
    const messages = await all<RingMessage & { readonly station: StationKey }>(MESSAGES, times)
    const rings = new Map<StationKey, RingMessage[]>(keys.map((key) => [key, []]))
    for (const message of messages) rings.get(message.station)?.push(message)
    if (rows.length > 0)
      yield rows.map((row) => ({
        ...stationFrom(row),
        devices: devices.get(row.key) ?? [],
        newestDropped: ringsInFile.newestDropped(row.key),
        messages: rings.get(row.key) ?? [],
        acks: acks.filter(({ to }) => to === row.key),
      }))
    last = rows.length === PAGE_STATIONS ? rows.at(-1)?.key : undefined
  }
}

function contentsOf({ station: _, lastPushAt, lastPushOutcome, lastPushReason, ...row }: DeviceRow): DeviceContents {
  return { ...deviceFrom(row), lastPush: pushResultFrom({ lastPushAt, lastPushOutcome, lastPushReason }) }
}

function stationFrom({ key, registeredAt, proven, icon, ...avatar }: StationRow) {
  return { key, registeredAt, proven: proven === 1, avatar: icon === null ? undefined : { icon, ...avatar } }
}

async function* droppedOf(
  { all }: Pick<Connection, 'all'>,
  rings: Pick<RingIndex, 'dropped'>,
): AsyncGenerator<readonly DroppedMessage[]> {
  const times = rings.dropped()
  for (let first = 0; first < times.length; first += PAGE_DROPPED) {
    const page = JSON.stringify(times.slice(first, first + PAGE_DROPPED))
    yield await all<DroppedMessage>(DROPPED, page)
  }
}
