import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { systemClock } from '../../sidecar/clock.ts'
import { createLog } from '../../sidecar/log.ts'
import { connect } from '../../sidecar/store/sqlite/database/connection.ts'
import { openSqliteStore } from '../../sidecar/store/sqlite/open-sqlite.ts'
import { SETTINGS } from '../sidecar/store/sqlite/temporary-stores.ts'
import { createFolder } from '../support/file-folder.ts'
import { FIRST_CURSOR, type LoadClient, requestText } from './api.ts'
import { type BuiltSidecar, counter, startBuiltSidecar } from './built-sidecar.ts'
import type { LoadOrder } from './http-load-client.ts'
import { alone, beside, type Figure, type Measurement, median, medianOf, repeat, untilSteady } from './measurement.ts'
import { createMessages } from './message-flow.ts'
import { startProgram } from './program.ts'
import { claim, registerStations } from './stations.ts'
import { bareUpstream } from './upstream.ts'

const SIZES = [5_000, 20_000, 50_000] as const
/** Maximum number of messages in a ring. Each station has at least one message. */
const MOST_EACH = 50
const DRAWN = 10_000
const MESSAGES = 20_000
const NEWCOMERS = 500
const STARTS = 3
const MOST_WINDOWS = 6
const LOAD_MS = 1000
/** Limit of the time in which each station is asked once. */
const ASK_ALL_MS = 60_000
/**
 * Interval between two requests for `/metrics`. Each takes milliseconds, which must be little compared with the
 * messages.
 */
const ASK_EVERY_MS = 500
const AT_ONCE = 20_000
const DAY_MS = 86_400_000

const FILL = [
  `UPDATE state SET reserved_time = ?2 + ${DAY_MS} WHERE ?1 IS NOT NULL`,
  'INSERT INTO station (key, registered_at) SELECT value, ?2 FROM json_each(?1)',
  `INSERT INTO device (station, id, platform, push_token, ack_messages, registered_at, last_seen_at, pushed_through)
   SELECT value, '', 'android', 'token-of-' || value, 0, ?2, ?2 + ${DAY_MS}, ?2 + ${DAY_MS} FROM json_each(?1)`,
]
const ADD = `
  INSERT INTO message (time, station, source, seq_id, text, received_at)
  SELECT ?2 + key, value, 'K' || (?2 + key) % 977 || 'ABC-7', key, randomblob(60), ?2 FROM json_each(?1)`

/** Figures for one number of stations. */
type Figures = Readonly<Record<keyof typeof UNITS, number | Figure>>

/** Unit of each figure, and whether it should stay constant or grow with the number of stations. */
const UNITS = {
  start: ['ms', 'linear'],
  message: ['µs CPU/message', 'same'],
  sync: ['µs CPU/request', 'same'],
  register: ['µs CPU/station', 'same'],
  metrics: ['µs CPU/request', 'same'],
  rss: ['MB', 'linear'],
  housekeeping: ['ms CPU', 'linear'],
  file: ['bytes/message', 'same'],
} as const

/**
 * Measures the cost with 5,000, 20,000 and 50,000 stations: start with a full file; a message, a sync, a new
 * registration and a request for `/metrics`; resident memory; one housekeeping run; and file size. Senders and readers
 * follow Zipf's law: the second station gets half as many messages as the first. The file has up to 50 messages for
 * each station, in order of arrival, and in total five times as many as stations. The peer is the figure at 5,000
 * stations, scaled up for figures that cover all stations. A ratio below 1 means that it grows faster than the number
 * of stations.
 */
export async function growthBench(): Promise<readonly Measurement[]> {
  const client: LoadClient = await startProgram('http-load-client.ts')
  try {
    const all: Figures[] = []
    for (const count of SIZES) all.push(await figuresOf(client, count))
    const [first, ...larger] = all
    if (!first) return []
    return Object.entries(UNITS).flatMap(([name, [unit, growth]]) => {
      const figureOf = (figures: Figures) => figures[name as keyof Figures]
      const numberOf = (figure: number | Figure) => (typeof figure === 'number' ? figure : figure.value)
      const bothSteady = (figure: number | Figure) =>
        typeof figure === 'number' ? {} : { steady: figure.steady && (figureOf(first) as Figure).steady }
      return [
        alone(`growth.${name}.${SIZES[0]}`, unit, figureOf(first)),
        ...larger.map((figures, index) => {
          const stations = SIZES[index + 1] as number
          const peer = numberOf(figureOf(first)) * (growth === 'linear' ? stations / SIZES[0] : 1)
          const peerName = `5,000 stations${growth === 'linear' ? `, ${stations / SIZES[0]} times` : ''}`
          const sides = { ours: numberOf(figureOf(figures)), peer, ...bothSteady(figureOf(figures)) }
          return beside(`growth.${name}.${stations}`, unit, sides, peerName, 'less')
        }),
      ]
    })
  } finally {
    await client.close()
  }
}

async function figuresOf(client: LoadClient, count: number): Promise<Figures> {
  const folder = await createFolder('growth')
  const file = join(folder.path, 'sidecar.sqlite')
  try {
    const stations = Array.from({ length: count }, (_, index) => `B${index + 1000}X`)
    const rows = await fill(file, stations)
    const running = await ofSidecar(client, file, stations)
    const [housekeeping, { size }] = [await housekeepingMs(file), await stat(file)]
    return { ...running.figures, housekeeping, file: size / (rows + running.stored) }
  } finally {
    await folder.remove()
  }
}

/** @returns the number of messages in the file */
async function fill(file: string, stations: readonly string[]): Promise<number> {
  await (await openSqliteStore(file, SETTINGS, systemClock, createLog('silent'))).close()
  const connection = await connect(file, 0)
  const since = Date.now() - DAY_MS
  for (const statement of FILL) await connection.all(statement, JSON.stringify(stations), since)
  // By Zipf's law, the first station would have as many messages as there are stations, and the last one has one.
  const each = stations.map((_, index) => Math.min(MOST_EACH, Math.floor(stations.length / (index + 1))))
  const all = Array.from({ length: MOST_EACH }, (_, turn) =>
    stations.filter((_, index) => (each[index] ?? 0) > turn),
  ).flat()
  for (let first = 0; first < all.length; first += AT_ONCE)
    await connection.all(ADD, JSON.stringify(all.slice(first, first + AT_ONCE)), since + first)
  await connection.close()
  return all.length
}

async function ofSidecar(client: LoadClient, database: string, stations: readonly string[]) {
  const upstream = await bareUpstream()
  const start = () =>
    startBuiltSidecar({
      aprsis: { host: '127.0.0.1', port: upstream.port, callsign: 'N0CALL', passcode: 13023, maxConnections: 99 },
      rateLimit: { windowMs: 1000, max: 1_000_000_000, newStationsPerHour: 1_000_000, connectionsPerAddress: 10_000 },
      stations: { max: stations.length + NEWCOMERS },
      database,
    })
  const starts = await repeat(STARTS - 1, async () => {
    const sidecar = await start()
    await sidecar.close()
    return sidecar.startMs
  })
  const sidecar = await start()
  try {
    await upstream.client
    const drawn = Array.from({ length: DRAWN }, (_, index) => stations[zipf(index, stations.length)] as string)
    const messages = createMessages(drawn)
    const storeAll = async () => {
      const wanted = (await counter(sidecar, 'messages_stored')) + MESSAGES
      upstream.send(messages(MESSAGES))
      while ((await counter(sidecar, 'messages_stored')) < wanted) await pause(ASK_EVERY_MS)
      return MESSAGES
    }
    const order = loadOrder(sidecar, drawn)
    // First reads the messages of each station from the file, because this row measures answers from memory.
    await client.call('askAll', order, ASK_ALL_MS)
    let first = 0
    const { message, sync } = await untilSteady(MOST_WINDOWS, 'cpuUs', {
      message: async () => ({ cpuUs: await cpuOf(sidecar, storeAll) }),
      sync: async () => {
        const load = await client.call('load', { ...order, first })
        first = load.next
        return load
      },
    })
    const stored = await counter(sidecar, 'messages_stored')
    const rss = sidecar.residentMegabytes()
    const newcomers = Array.from({ length: NEWCOMERS }, (_, index) => `C${index}X`)
    const register = await cpuOf(sidecar, () => registerStations(sidecar, newcomers).then(() => NEWCOMERS))
    const metrics = await cpuOf(
      sidecar,
      async () => (await repeat(DRAWN / 100, () => counter(sidecar, 'messages_stored'))).length,
    )
    const start = median([...starts, sidecar.startMs])
    const figures = {
      start,
      message: medianOf(message, 'cpuUs'),
      sync: medianOf(sync, 'cpuUs'),
      rss,
      register,
      metrics,
    }
    return { figures, stored }
  } finally {
    await sidecar.close()
    upstream.close()
  }
}

/**
 * Returns element `index` of a sequence of numbers below `count`, in which each occurs as often as Zipf's law says. The
 * golden ratio spreads the occurrences evenly.
 */
function zipf(index: number, count: number): number {
  return Math.floor((count + 1) ** ((index * 0.618_033_988_75) % 1)) - 1
}

function loadOrder({ url, pid }: BuiltSidecar, stations: readonly string[]): LoadOrder {
  const requests = stations.map((station) => requestText('/v1/sync', {}, { ...claim(station), since: FIRST_CURSOR }))
  const load = { connections: 64, takesCursors: false, warmUpMs: 0, durationMs: LOAD_MS }
  return { port: Number(new URL(url).port), pid, requests, ...load }
}

/** Returns the sidecar's CPU time in microseconds for one item of `work`, which returns the number of items. */
async function cpuOf(sidecar: BuiltSidecar, work: () => Promise<number>): Promise<number> {
  const usageBefore = sidecar.cpuMicroseconds()
  const count = await work()
  return (sidecar.cpuMicroseconds() - usageBefore) / count
}

async function housekeepingMs(file: string): Promise<number> {
  const store = await openSqliteStore(file, SETTINGS, systemClock, createLog('silent'))
  const usageBefore = process.cpuUsage()
  await store.housekeeping.expire(Date.now() - DAY_MS, AbortSignal.timeout(DAY_MS))
  await store.housekeeping.tidy(AbortSignal.timeout(DAY_MS))
  const { user, system } = process.cpuUsage(usageBefore)
  await store.close()
  return (user + system) / 1000
}
