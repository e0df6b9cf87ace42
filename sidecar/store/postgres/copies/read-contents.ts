import { StoreError } from '../../../errors.ts'
import type { ContentCounts, Contents, RingMessage, StationContents } from '../../../messages/contents.ts'
import { VAPID_KEYS } from '../../../messages/keyring.ts'
import type { StationKey } from '../../../messages/store.ts'
import type { Postgres, Queries } from '../database/connection.ts'

const PAGE_STATIONS = 100

const SUMMARY = `
  SELECT last AS "lastStamp", (SELECT value FROM keyring WHERE name = $1) AS "vapidKeys",
    (SELECT coalesce(max(held), 0) FROM (SELECT count(*) AS held FROM ring WHERE time > 0 GROUP BY station) AS rings) AS "fullestRing"
  FROM clock`

// Of what rings have dropped there is not enough here: it is what a duplicate is found by, and no message.
const COUNTS = `
  SELECT (SELECT count(*) FROM station) AS stations, 0 AS dropped,
    (SELECT count(*) FROM avatar WHERE EXISTS (SELECT FROM station WHERE key = avatar.station)) AS avatars,
    (SELECT count(*) FROM ring WHERE time > 0 AND EXISTS (SELECT FROM station WHERE key = ring.station)) AS messages`

const STATIONS = `
  SELECT key, platform, push_token AS "pushToken", token_dead AS "tokenDead", ack_messages AS "ackMessages",
    registered_at AS "registeredAt", last_seen_at AS "lastSeenAt", pushed_through AS "pushedThrough", asked,
    icon, hash, updated_at AS "updatedAt", image
  FROM station LEFT JOIN avatar ON avatar.station = key WHERE key > $1 ORDER BY key LIMIT ${PAGE_STATIONS}`

const MESSAGES = `
  SELECT station, time, source, seq_id AS "seqId", text, received_at AS "receivedAt" FROM ring
  WHERE station = ANY ($1) AND time > 0 ORDER BY station, time`

interface StationRow extends Omit<StationContents, 'avatar' | 'messages'> {
  readonly icon: string | null
  readonly hash: string
  readonly updatedAt: number
  readonly image: string
}

interface MessageRow extends Omit<RingMessage, 'source' | 'seqId'> {
  readonly station: StationKey
  readonly source: Buffer
  readonly seqId: Buffer
}

/** What a database holds beside what belongs to stations. */
export interface DatabaseContents extends Contents {
  /** In JSON; null while Web Push was never on. Secret. */
  readonly vapidKeys: string | null
}

/** Has `work` read all that is in the database at one moment, while others go on. Rejects with a {@link StoreError}. */
export function readContents<T>(
  postgres: Pick<Postgres, 'onOwnConnection'>,
  work: (contents: DatabaseContents) => Promise<T>,
): Promise<T> {
  return postgres.onOwnConnection(async ({ query, run }) => {
    await run('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const [summary] = await query<Pick<DatabaseContents, 'lastStamp' | 'fullestRing' | 'vapidKeys'>>(SUMMARY, [
      VAPID_KEYS,
    ])
    const [counts] = await query<ContentCounts>(COUNTS)
    if (!summary || !counts) throw new StoreError('store_fault')
    return work({ ...summary, counts, stations: () => stationsOf({ query }), async *dropped() {} })
  })
}

async function* stationsOf({ query }: Queries): AsyncGenerator<readonly StationContents[]> {
  for (let last: StationKey | undefined = ''; last !== undefined; ) {
    const rows: readonly StationRow[] = await query<StationRow>(STATIONS, [last])
    const messages = await query<MessageRow>(MESSAGES, [rows.map(({ key }) => key)])
    const rings = new Map<StationKey, RingMessage[]>(rows.map(({ key }) => [key, []]))
    for (const { station, source, seqId, ...message } of messages)
      rings.get(station)?.push({ ...message, source: source.toString(), seqId: seqId.toString() })
    if (rows.length > 0) yield rows.map((row) => contentsOf(row, rings.get(row.key) ?? []))
    last = rows.length === PAGE_STATIONS ? rows.at(-1)?.key : undefined
  }
}

function contentsOf(row: StationRow, messages: readonly RingMessage[]): StationContents {
  const { icon, hash, updatedAt, image, ...station } = row
  return { ...station, avatar: icon === null ? undefined : { icon, hash, updatedAt, image }, messages }
}
