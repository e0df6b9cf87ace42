import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../sidecar/clock.ts'
import { createLog } from '../../sidecar/log.ts'
import type { Store } from '../../sidecar/messages/store.ts'
import { openFile } from '../../sidecar/store/sqlite/database/open-file.ts'
import { buildStore } from '../../sidecar/store/sqlite/open-sqlite.ts'
import { beside, type Measurement, median } from './measurement.ts'

const EXPIRED = 4000
const ORPHANED = 1000
const MESSAGES_EACH = 50
const ROUNDS = 5
/** When those that expire were last seen. */
const LONG_AGO = 1
const GUEST = 'B1X'
const NEVER = new AbortController().signal

/**
 * How long a request waits at most while the housekeeping removes 4,000 expired stations and the rows of 1,000 that somebody took out
 * of the file, 250,000 messages in all: a sync that has to read the file and a message to be stored at a time, one after the other. The peer is the
 * same, for as long, with nothing to be kept: what the machine does anyway.
 */
export async function housekeepingBench(): Promise<readonly Measurement[]> {
  const busy: number[] = []
  const idle: number[] = []
  for (let round = 0; round < ROUNDS; round += 1) {
    const { longestMs, elapsedMs } = await withStore((store) =>
      longestWait(store, async () => {
        const stations = await store.housekeeping.expire(LONG_AGO + 1, NEVER)
        const rows = await store.housekeeping.tidy(NEVER)
        if (stations !== EXPIRED || rows !== ORPHANED * MESSAGES_EACH)
          throw new Error(`It removed ${stations} stations and ${rows} rows.`)
      }),
    )
    busy.push(longestMs)
    const quiet = await withStore((store) =>
      longestWait(store, () => new Promise((resolve) => setTimeout(resolve, elapsedMs))),
    )
    idle.push(quiet.longestMs)
  }
  const sides = { ours: median(busy), peer: median(idle) }
  return [beside('housekeeping.wait', 'ms', sides, 'the same without housekeeping', 'less')]
}

/** Makes requests until `work` is done. */
async function longestWait(
  store: Store,
  work: () => Promise<void>,
): Promise<{ readonly longestMs: number; readonly elapsedMs: number }> {
  const begun = performance.now()
  let over = false
  let longestMs = 0
  const done = work().finally(() => {
    over = true
  })
  for (let turn = 0; !over; turn += 1) {
    const asked = performance.now()
    const text = Buffer.from('Still there?')
    const message = { from: 'W1AW', sourceAsReceived: 'W1AW', to: GUEST, seqId: `${turn}`, text }
    await Promise.all([store.history.since(GUEST, '', 0), store.history.append([message], false)])
    longestMs = Math.max(longestMs, performance.now() - asked)
    // A turn of the event loop, so that a loop that is held up counts too.
    await new Promise((resolve) => setImmediate(resolve))
  }
  await done
  return { longestMs, elapsedMs: performance.now() - begun }
}

/** A store with all those stations and messages, on a file of its own, and with one station that is in use. */
async function withStore<T>(use: (store: Store) => Promise<T>): Promise<T> {
  const folder = await mkdtemp(join(tmpdir(), 'housekeeping-bench-'))
  const path = join(folder, 'store.sqlite')
  const connection = await openFile(path)
  await connection.exec(`
    BEGIN;
    WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < ${EXPIRED + ORPHANED - 1})
    INSERT INTO station SELECT printf('N%dCALL', i), 1 FROM n;
    INSERT INTO device SELECT key, '', 'android', 'token', 0, 0, 1, ${LONG_AGO}, 0, 0 FROM station;
    WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${MESSAGES_EACH})
    INSERT INTO message
    SELECT row_number() OVER (), station.key, 'W1AW', i, CAST('A message of some length, as people write them' AS BLOB), i
    FROM n CROSS JOIN station;
    COMMIT;
    PRAGMA foreign_keys = OFF;
    DELETE FROM station WHERE key IN (SELECT key FROM station ORDER BY key LIMIT ${ORPHANED});
    PRAGMA foreign_keys = ON`)
  const settings = {
    history: { perStation: MESSAGES_EACH, duplicateMinutes: 120, duplicateSecondsUnnumbered: 30 },
    stations: { max: EXPIRED + ORPHANED, expireAfterHours: 720 },
    ack: { minIntervalMs: 31_000, maxPerSenderPerMinute: 10 },
    push: { coalesceMs: 2000 },
    rateLimit: { newStationsPerHour: 20 },
    instance: 'bench',
  }
  const store = await buildStore(connection, path, settings, systemClock, createLog('error'))
  try {
    const guest = {
      key: GUEST,
      deviceId: '',
      platform: 'android',
      pushToken: 'token',
      ackMessages: false,
      client: '127.0.0.1',
    } as const
    await store.stations.register(guest)
    return await use(store)
  } finally {
    await store.close()
    await rm(folder, { recursive: true, force: true })
  }
}
