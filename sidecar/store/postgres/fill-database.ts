import { StoreError } from '../../errors.ts'
import { ackIdentity } from '../../messages/acks/received-acks.ts'
import type { AckContents, ContentCounts, Contents, DroppedMessage, StationContents } from '../../messages/contents.ts'
import { VAPID_KEYS } from '../../messages/keyring.ts'
import { LEASE_MS } from '../../messages/leases.ts'
import { deviceKey } from '../../messages/station.ts'
import { readSql } from '../read-sql.ts'
import type { Postgres, Queries } from './database/connection.ts'
import { type SqlValue, withoutNul } from './database/sql-values.ts'
import { messageIdentity } from './messages/message-identity.ts'
import { CHANNEL } from './schema/schema-files.ts'

/**
 * The error if the contents could not be written, which leaves the database unchanged. `remedy` tells the operator what
 * to do.
 */
export class FillError extends Error {
  override readonly name = 'FillError'
  readonly remedy: string

  constructor(message: string, remedy: string) {
    super(message)
    this.remedy = remedy
  }
}

const STATE = `
  SELECT (SELECT count(*) FROM station) AS stations,
    ARRAY(SELECT name FROM instance WHERE owner <> '' AND abs(now_ms() - seen_at) < ${LEASE_MS} ORDER BY name) AS instances`

const INSERT_DEVICES = readSql(new URL('./fill/insert-devices.sql', import.meta.url))

const INSERT_STATIONS = `
  INSERT INTO station (key, registered_at, proven) SELECT * FROM unnest($1::text[], $2::bigint[], $3::boolean[])`

const INSERT_AVATARS = `
  INSERT INTO avatar (station, icon, hash, updated_at, image)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[])`

const INSERT_ACKS = `
  INSERT INTO ack (station, time, source, seq_id, kind, identity, received_at)
  SELECT * FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])`

const INSERT_RINGS = readSql(new URL('./fill/insert-rings.sql', import.meta.url))

const INSERT_DROPPED = readSql(new URL('./fill/insert-dropped.sql', import.meta.url))

const INSERT_PUSHES = `
  INSERT INTO push_due (station, newest, due_at, oldest_at)
  SELECT key, max(time), now_ms(), now_ms() FROM device JOIN ring USING (station)
  WHERE time > pushed_through GROUP BY key`

// Sets the newest stamp of the database above all stamps of the file. Makes instances that follow changes read all
// stations again.
const SET_CLOCK = `
  UPDATE clock SET per_station = $2, station_count = (SELECT count(*) FROM station),
    last = greatest(last, $1::bigint + 1), changes_since = greatest(last, $1::bigint + 1)`
const NOTIFY = `SELECT pg_notify('${CHANNEL}', '')`

// Replaces existing VAPID keys. No phone uses them yet, because the database has no stations and no instances.
const SET_KEYS =
  'INSERT INTO keyring (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value'

const COUNTS = `
  SELECT (SELECT count(*) FROM station) AS stations, (SELECT count(*) FROM device) AS devices, (SELECT count(*) FROM avatar) AS avatars,
    (SELECT count(*) FROM ring WHERE time > 0) AS messages, (SELECT count(*) FROM dropped) AS dropped`

interface FillOptions {
  /** Minimum number of slots in each ring. */
  readonly perStation: number
  /** The VAPID keys of Web Push as JSON; undefined if Web Push was never on. */
  readonly vapidKeys: string | undefined
}

/**
 * Writes all `contents` in one transaction. Rejects with a {@link FillError} if the database has stations or running
 * instances, or with a `StoreError`.
 */
export async function fillDatabase(
  postgres: Pick<Postgres, 'onOwnConnection'>,
  contents: Contents,
  options: FillOptions,
): Promise<ContentCounts> {
  const outcome = await postgres.onOwnConnection(async ({ query, run }) => {
    await run('BEGIN')
    // `take_stamp` locks the row of the table `clock` until the transaction ends. So no station can register meanwhile.
    await query('SELECT take_stamp()')
    const obstacle = await obstacleIn({ query })
    // Without a commit, the end of the connection rolls the transaction back.
    if (obstacle) return obstacle
    const counts = await fillAll({ query }, contents, options)
    if (countsInWords(counts) === countsInWords(contents.counts)) await run('COMMIT')
    return counts
  })
  if (outcome instanceof FillError) throw outcome
  if (countsInWords(outcome) === countsInWords(contents.counts)) return outcome
  throw new FillError(
    `The file has ${countsInWords(contents.counts)}, but PostgreSQL received ${countsInWords(outcome)}.`,
    'This is a bug in the sidecar: please report it.',
  )
}

async function obstacleIn({ query }: Queries): Promise<FillError | undefined> {
  const [state] = await query<{ stations: number; instances: readonly string[] }>(STATE)
  if (!state) throw new StoreError('store_fault')
  if (state.stations > 0)
    return new FillError(
      `The PostgreSQL database has stations already (${state.stations}).`,
      'Name another database in --move-to. If you do not need the stations in this one, drop its schema mesh_companion.',
    )
  if (state.instances.length === 0) return undefined
  return new FillError(
    `These instances use the PostgreSQL database: ${state.instances.join(', ')}.`,
    'Stop them, and start them again after the move.',
  )
}

async function fillAll(
  { query }: Queries,
  contents: Contents,
  { perStation, vapidKeys }: FillOptions,
): Promise<ContentCounts> {
  const places = Math.max(perStation, contents.fullestRing)
  for await (const page of contents.stations()) {
    await addStations({ query }, page, places)
    await addAcks(
      { query },
      page.flatMap(({ acks }) => acks),
    )
  }
  for await (const page of contents.dropped()) await query(INSERT_DROPPED, droppedRows(page))
  // Notifications that phones have not received yet become due at once.
  await query(INSERT_PUSHES)
  if (vapidKeys !== undefined) await query(SET_KEYS, [VAPID_KEYS, vapidKeys])
  await query(SET_CLOCK, [contents.lastStamp, places])
  await query(NOTIFY)
  const [counts] = await query<ContentCounts>(COUNTS)
  if (!counts) throw new StoreError('store_fault')
  return counts
}

async function addStations({ query }: Queries, page: readonly StationContents[], places: number): Promise<void> {
  const devices = page.flatMap(({ key, devices }) => devices.map((device) => ({ station: key, ...device })))
  const column = <Value extends SqlValue>(read: (device: (typeof devices)[number]) => Value) => devices.map(read)
  const keys = page.map(({ key }) => key)
  await query(INSERT_DEVICES, [
    column(({ station, id }) => deviceKey(station, id)),
    column(({ station }) => station),
    column(({ platform }) => platform),
    column(({ pushToken }) => withoutNul(pushToken)),
    column(({ tokenDead }) => tokenDead),
    column(({ ackMessages }) => ackMessages),
    column(({ registeredAt }) => registeredAt),
    column(({ lastSeenAt }) => lastSeenAt),
    column(({ pushedThrough }) => pushedThrough),
    column(({ newestCursor }) => newestCursor),
    column(({ firstToken }) => (firstToken === null ? null : withoutNul(firstToken))),
    column(({ options }) => options.blocked.join(' ')),
    column(({ lastPush }) => lastPush?.at ?? null),
    column(({ lastPush }) => lastPush?.outcome ?? null),
    column(({ lastPush }) => (lastPush?.reason ? withoutNul(lastPush.reason) : null)),
    column(({ options }) => options.wantAcks),
    column(({ options }) => options.anySsid),
  ])
  await query(INSERT_STATIONS, [keys, page.map(({ registeredAt }) => registeredAt), page.map(({ proven }) => proven)])
  const avatars = page.flatMap(({ key, avatar }) => (avatar ? [{ key, ...avatar }] : []))
  await query(INSERT_AVATARS, [
    avatars.map(({ key }) => key),
    avatars.map(({ icon }) => withoutNul(icon)),
    avatars.map(({ hash }) => hash),
    avatars.map(({ updatedAt }) => updatedAt),
    avatars.map(({ image }) => image),
  ])
  const messages = page.flatMap(({ key: station, newestDropped, messages }) =>
    messages.map((message) => ({ station, newestDropped, ...message })),
  )
  await query(INSERT_RINGS, [
    messages.map(({ station }) => station),
    messages.map(({ stamp }) => stamp),
    messages.map(({ source }) => Buffer.from(source)),
    messages.map(({ seqId }) => Buffer.from(seqId)),
    messages.map(({ text }) => text),
    messages.map(identityOf),
    messages.map(({ receivedAt }) => receivedAt),
    messages.map(({ newestDropped }) => newestDropped),
    messages.map(({ ackedAt }) => ackedAt),
    messages.map(({ addressee }) => Buffer.from(addressee ?? '')),
    places,
  ])
}

async function addAcks({ query }: Queries, acks: readonly AckContents[]): Promise<void> {
  await query(INSERT_ACKS, [
    acks.map(({ to }) => to),
    acks.map(({ stamp }) => stamp),
    acks.map(({ from }) => from),
    acks.map(({ seqId }) => seqId),
    acks.map(({ kind }) => kind),
    acks.map(ackIdentity),
    acks.map(({ receivedAt }) => receivedAt),
  ])
}

function droppedRows(page: readonly DroppedMessage[]): readonly SqlValue[] {
  return [page.map(({ station }) => station), page.map(identityOf), page.map(({ receivedAt }) => receivedAt)]
}

function identityOf({ station, addressee, source, seqId, text }: DroppedMessage): Buffer {
  return messageIdentity({ from: source, to: addressee ?? station, seqId, text })
}

/** Formats counts: `stations 12, devices 14, avatars 3, messages 600, dropped messages 20`. */
export function countsInWords({ stations, devices, avatars, messages, dropped }: ContentCounts): string {
  return `stations ${stations}, devices ${devices}, avatars ${avatars}, messages ${messages}, dropped messages ${dropped}`
}
