import { open, rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { vapidFileBeside } from '../../../config/vapid-keys.ts'
import { StoreError } from '../../../errors.ts'
import type { ContentCounts, Contents, StationContents } from '../../../messages/contents.ts'
import type { Connection } from '../database/connection.ts'
import { openFile } from '../database/open-file.ts'
import { toStoreError } from '../database/sqlite-error.ts'
import { PARTIAL, syncFolder } from './backup.ts'

// As JSON, a page in a statement: a statement for each row costs a trip to libuv's pool. Texts travel as hex.
const STATIONS = `
  INSERT INTO station (
    key, platform, push_token, token_dead, ack_messages, registered_at, last_seen_at, pushed_through, asked)
  SELECT row.value ->> 0, row.value ->> 1, row.value ->> 2, row.value ->> 3, row.value ->> 4, row.value ->> 5,
    row.value ->> 6, row.value ->> 7, row.value ->> 8
  FROM json_each(?) AS row`

const AVATARS = `
  INSERT INTO avatar (station, icon, hash, updated_at, image)
  SELECT row.value ->> 0, row.value ->> 1, row.value ->> 2, row.value ->> 3, row.value ->> 4 FROM json_each(?) AS row`

const MESSAGES = `
  INSERT INTO message (time, station, source, seq_id, text, received_at)
  SELECT row.value ->> 0, row.value ->> 1, row.value ->> 2, row.value ->> 3, unhex(row.value ->> 4), row.value ->> 5
  FROM json_each(?) AS row`

const STATE = 'UPDATE state SET reserved_time = ?, per_station = ?'

const COUNTS = `
  SELECT (SELECT count(*) FROM station) AS stations, (SELECT count(*) FROM avatar) AS avatars,
    (SELECT count(*) FROM message) AS messages`

const OWNER_ONLY = 0o600

/**
 * Writes `contents` into the new SQLite file `path`, as a store would have kept them, under another name until it is complete and on the disk;
 * what rings have dropped is left out. `vapidKeys` go into a file beside it. Resolves with its size in bytes. Rejects with a {@link StoreError},
 * and leaves nothing behind, when that fails or `signal` is aborted.
 */
export async function writeContents(
  contents: Contents,
  vapidKeys: string | null,
  path: string,
  signal: AbortSignal,
): Promise<number> {
  const draft = path + PARTIAL
  try {
    await fill(draft, contents, signal)
    if (vapidKeys !== null) await writeFile(vapidFileBeside(path), `${vapidKeys}\n`, { mode: OWNER_ONLY, flush: true })
    const { size } = await stat(draft)
    await rename(draft, path)
    await syncFolder(dirname(path))
    return size
  } catch (error) {
    for (const leftOver of [draft, `${draft}-journal`, `${draft}-wal`, vapidFileBeside(path)])
      await rm(leftOver, { force: true }).catch(() => undefined)
    throw toStoreError(error)
  }
}

async function fill(draft: string, contents: Contents, signal: AbortSignal): Promise<void> {
  const connection = await openFile(draft)
  try {
    // Nobody reads it before it is whole: it is on the disk at the end, and needs no log until then.
    await connection.exec('PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF')
    await connection.all(STATE, contents.lastStamp, contents.fullestRing)
    for await (const page of contents.stations()) {
      signal.throwIfAborted()
      await writeStations(connection, page)
    }
    const [written] = await connection.all<Omit<ContentCounts, 'dropped'>>(COUNTS)
    const { stations, avatars, messages } = contents.counts
    if (written?.stations !== stations || written.avatars !== avatars || written.messages !== messages)
      throw new StoreError('store_fault', { cause: new Error('Not everything arrived in the copy.') })
    await connection.exec('PRAGMA journal_mode = DELETE')
  } finally {
    await connection.close()
  }
  const file = await open(draft, 'r+')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

async function writeStations({ all }: Pick<Connection, 'all'>, page: readonly StationContents[]): Promise<void> {
  await all(
    STATIONS,
    JSON.stringify(
      page.map((station) => {
        const { key, platform, pushToken, tokenDead, ackMessages, registeredAt, lastSeenAt, pushedThrough, asked } =
          station
        return [key, platform, pushToken, +tokenDead, +ackMessages, registeredAt, lastSeenAt, pushedThrough, asked]
      }),
    ),
  )
  const avatars = page.flatMap(({ key, avatar }) =>
    avatar ? [[key, avatar.icon, avatar.hash, avatar.updatedAt, avatar.image]] : [],
  )
  await all(AVATARS, JSON.stringify(avatars))
  const messages = page.flatMap(({ key, messages }) =>
    messages.map(({ time, source, seqId, text, receivedAt }) => [
      time,
      key,
      source,
      seqId,
      text.toString('hex'),
      receivedAt,
    ]),
  )
  await all(MESSAGES, JSON.stringify(messages))
}
