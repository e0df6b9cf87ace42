import { StoreError } from '../../errors.ts'
import type { ContentCounts, Contents, DroppedMessage, StationContents } from '../../messages/contents.ts'
import { VAPID_KEYS } from '../../messages/keyring.ts'
import { LEASE_MS } from '../../messages/leases.ts'
import { deviceKey } from '../../messages/station.ts'
import type { Postgres, Queries, SqlValue } from './database/connection.ts'
import { withoutNul } from './database/without-nul.ts'
import { messageIdentity } from './messages/message-identity.ts'
import { CHANNEL } from './schema/registry-functions.ts'

/** The database cannot take anything in, and is as it was; `remedy` is what the operator should do. */
export class FillError extends Error {
  override readonly name = 'FillError'
  readonly remedy: string

  constructor(message: string, remedy: string) {
    super(message)
    this.remedy = remedy
  }
}

const FOUND = `
  SELECT (SELECT count(*) FROM station) AS stations,
    ARRAY(SELECT name FROM instance WHERE owner <> '' AND abs(now_ms() - seen_at) < ${LEASE_MS} ORDER BY name) AS instances`

const DEVICES = `
  INSERT INTO device (
    key, station, platform, push_token, token_dead, ack_messages, registered_at, last_seen_at, pushed_through, asked,
    first_token)
  SELECT * FROM unnest(
    $1::text[], $2::text[], $3::text[], $4::text[], $5::boolean[], $6::boolean[], $7::bigint[], $8::bigint[], $9::bigint[], $10::bigint[],
    $11::text[])`

// What is a device's stands there for instances of 0.2.0 alone.
const STATIONS = `
  INSERT INTO station (key, registered_at, proven, platform, push_token, ack_messages, last_seen_at, pushed_through)
  SELECT station.key, station.registered_at, proven, platform, push_token, ack_messages, last_seen_at, pushed_through
  FROM unnest($1::text[], $2::bigint[], $3::boolean[]) AS station (key, registered_at, proven)
    CROSS JOIN LATERAL (SELECT * FROM device WHERE device.station = station.key LIMIT 1) AS device`

const AVATARS = `
  INSERT INTO avatar (station, icon, hash, updated_at, image)
  SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[], $5::text[])`

// The newest message in the last place of its ring, the older ones in order before it, and places for more.
const RINGS = `
  WITH held AS (
    SELECT *, $8 - row_number() OVER (PARTITION BY station ORDER BY time DESC) AS place
    FROM unnest($1::text[], $2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bigint[])
      AS message (station, time, source, seq_id, text, identity, received_at)
  )
  INSERT INTO ring (station, slot, time, source, seq_id, text, identity, received_at)
    SELECT key, one.place, coalesce(time, 0), coalesce(source, ''), coalesce(seq_id, ''), coalesce(text, ''),
      coalesce(identity, ''), coalesce(received_at, 0)
    FROM (SELECT DISTINCT station AS key FROM held) AS filled CROSS JOIN generate_series(0, $8 - 1) AS one (place)
      LEFT JOIN held ON held.station = key AND held.place = one.place`

const DROPPED = `
  INSERT INTO dropped (station, identity, received_at)
  SELECT station, identity, received_at
  FROM unnest($1::text[], $2::bytea[], $3::bigint[]) WITH ORDINALITY AS one (station, identity, received_at, i) ORDER BY i`

const PUSHES = `
  INSERT INTO push_due (station, newest, due_at, oldest_at)
  SELECT key, max(time), now_ms(), now_ms() FROM device JOIN ring USING (station)
  WHERE time > pushed_through GROUP BY key`

// Newer than any stamp that was issued there; and whoever follows changes reads everything anew.
const CLOCK = `
  UPDATE clock SET per_station = $2, station_count = (SELECT count(*) FROM station), last = greatest(last, $1::bigint + 1), changes_since = greatest(last, $1::bigint + 1)`
const TELL = `SELECT pg_notify('${CHANNEL}', '')`

// Nobody has it from here yet: there are no stations, and no instances.
const KEYS = 'INSERT INTO keyring (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value'

const COUNTS = `
  SELECT (SELECT count(*) FROM station) AS stations, (SELECT count(*) FROM device) AS devices, (SELECT count(*) FROM avatar) AS avatars,
    (SELECT count(*) FROM ring WHERE time > 0) AS messages, (SELECT count(*) FROM dropped) AS dropped`

interface FillOptions {
  /** How many places a ring shall have at least. */
  readonly perStation: number
  /** The keys of Web Push, in JSON, where there are some. */
  readonly vapidKeys: string | undefined
}

/**
 * Puts all of `contents` into a database whose tables are there, and which has no stations and no instance at work: in
 * one transaction, so that it is all there afterwards, or nothing. What phones were not told of is due at once. Rejects
 * with a {@link FillError}, or a `StoreError`.
 */
export async function fillDatabase(
  postgres: Pick<Postgres, 'onOwnConnection'>,
  contents: Contents,
  options: FillOptions,
): Promise<ContentCounts> {
  const outcome = await postgres.onOwnConnection(async ({ query, run }) => {
    await run('BEGIN')
    // Held to the end: nobody registers meanwhile.
    await query('SELECT take_stamp()')
    const obstacle = await obstacleIn({ query })
    // What is not committed is undone as the connection ends.
    if (obstacle) return obstacle
    const counts = await fillAll({ query }, contents, options)
    if (countsInWords(counts) === countsInWords(contents.counts)) await run('COMMIT')
    return counts
  })
  if (outcome instanceof FillError) throw outcome
  if (countsInWords(outcome) === countsInWords(contents.counts)) return outcome
  throw new FillError(
    `Of ${countsInWords(contents.counts)} there arrived ${countsInWords(outcome)}.`,
    'This is a bug in the sidecar: please report it.',
  )
}

async function obstacleIn({ query }: Queries): Promise<FillError | undefined> {
  const [found] = await query<{ stations: number; instances: readonly string[] }>(FOUND)
  if (!found) throw new StoreError('store_fault')
  if (found.stations > 0)
    return new FillError(
      `The PostgreSQL database has stations already (${found.stations}).`,
      'Name another database, or drop the schema mesh_companion in it, if what is there is not wanted.',
    )
  if (found.instances.length === 0) return undefined
  return new FillError(
    `Instances are at work on the PostgreSQL database: ${found.instances.join(', ')}.`,
    'Stop them, and start them again when everything is there.',
  )
}

async function fillAll(
  { query }: Queries,
  contents: Contents,
  { perStation, vapidKeys }: FillOptions,
): Promise<ContentCounts> {
  const places = Math.max(perStation, contents.fullestRing)
  for await (const page of contents.stations()) await addStations({ query }, page, places)
  for await (const page of contents.dropped()) await query(DROPPED, droppedRows(page))
  await query(PUSHES)
  if (vapidKeys !== undefined) await query(KEYS, [VAPID_KEYS, vapidKeys])
  await query(CLOCK, [contents.lastStamp, places])
  await query(TELL)
  const [counts] = await query<ContentCounts>(COUNTS)
  if (!counts) throw new StoreError('store_fault')
  return counts
}

async function addStations({ query }: Queries, page: readonly StationContents[], places: number): Promise<void> {
  const devices = page.flatMap(({ key, devices }) => devices.map((device) => ({ station: key, ...device })))
  const column = <Value extends SqlValue>(read: (device: (typeof devices)[number]) => Value) => devices.map(read)
  const keys = page.map(({ key }) => key)
  await query(DEVICES, [
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
  ])
  await query(STATIONS, [keys, page.map(({ registeredAt }) => registeredAt), page.map(({ proven }) => proven)])
  const avatars = page.flatMap(({ key, avatar }) => (avatar ? [{ key, ...avatar }] : []))
  await query(AVATARS, [
    avatars.map(({ key }) => key),
    avatars.map(({ icon }) => withoutNul(icon)),
    avatars.map(({ hash }) => hash),
    avatars.map(({ updatedAt }) => updatedAt),
    avatars.map(({ image }) => image),
  ])
  const messages = page.flatMap(({ key, messages }) => messages.map((message) => ({ station: key, ...message })))
  await query(RINGS, [
    messages.map(({ station }) => station),
    messages.map(({ stamp }) => stamp),
    messages.map(({ source }) => Buffer.from(source)),
    messages.map(({ seqId }) => Buffer.from(seqId)),
    messages.map(({ text }) => text),
    messages.map(identityOf),
    messages.map(({ receivedAt }) => receivedAt),
    places,
  ])
}

function droppedRows(page: readonly DroppedMessage[]): readonly SqlValue[] {
  return [page.map(({ station }) => station), page.map(identityOf), page.map(({ receivedAt }) => receivedAt)]
}

function identityOf({ station, source, seqId, text }: DroppedMessage): Buffer {
  return messageIdentity({ from: source, to: station, seqId, text })
}

/** `stations 12, devices 14, avatars 3, messages 600, dropped ones 20`. */
export function countsInWords({ stations, devices, avatars, messages, dropped }: ContentCounts): string {
  return `stations ${stations}, devices ${devices}, avatars ${avatars}, messages ${messages}, dropped ones ${dropped}`
}
