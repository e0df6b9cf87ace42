import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { systemClock } from '../../sidecar/clock.ts'
import { createLog } from '../../sidecar/log.ts'
import type { IncomingMessage, Store } from '../../sidecar/messages/store.ts'
import { openStore } from '../../sidecar/store/open-store.ts'
import { median } from './measurement.ts'

/** What the store alone makes of a burst and of a lone message, on a real file in the temporary folder. */
export interface StoreFigures {
  readonly messagesPerSecond: number
  readonly loneMedianMs: number
  readonly syncsPerSecond: number
  readonly rssMb: number
}

export interface StoreLoad {
  readonly messages: number
  readonly stations: number
  /** Lines that one append call carries, as one chunk from the socket does. */
  readonly linesPerCall: number
  readonly callsInFlight: number
}

const BURST: StoreLoad = { messages: 10_000, stations: 100, linesPerCall: 20, callsInFlight: 16 }
const LONE_MESSAGES = 200
const SYNCS = 2000

/** One round. The rings are filled first, so that each message stored also drops one, as in steady service. */
export async function measureStore(load: StoreLoad = BURST): Promise<StoreFigures> {
  const folder = await mkdtemp(join(tmpdir(), 'mesh-companion-bench-'))
  const settings = {
    history: { perStation: 50, duplicateHours: 12 },
    stations: { max: 100_000, expireAfterHours: 720 },
  }
  const store = await openStore(join(folder, 'store.sqlite'), settings, systemClock, createLog('silent'))
  try {
    const stations = Array.from({ length: load.stations }, (_, index) => `N${index}CALL-7`)
    await Promise.all(stations.map((key) => register(store, key)))
    const next = messageSource(stations)
    await appendAll(store, next, { ...load, messages: load.stations * 55 })

    const startedAt = performance.now()
    await appendAll(store, next, load)
    const messagesPerSecond = (load.messages / (performance.now() - startedAt)) * 1000

    return {
      messagesPerSecond,
      loneMedianMs: await medianOfLone(store, next),
      syncsPerSecond: await syncRate(store, stations),
      rssMb: process.memoryUsage.rss() / 1e6,
    }
  } finally {
    await store.close()
    await rm(folder, { recursive: true })
  }
}

async function register(store: Store, key: string): Promise<void> {
  await store.stations.register({ key, platform: 'android', pushToken: `token-${key}`, ackMessages: true })
}

function messageSource(stations: readonly string[]): () => IncomingMessage {
  let count = 0
  return () => {
    count += 1
    return {
      from: `W${count % 997}ABC-9`,
      // A prime stride: neighbours in a chunk go to different stations, as they do on the air.
      to: stations[(count * 7919) % stations.length]!,
      seqId: String(count % 100_000),
      text: Buffer.from(`Message number ${count}, about as long as people type`),
    }
  }
}

async function appendAll(store: Store, next: () => IncomingMessage, load: StoreLoad): Promise<void> {
  let left = load.messages
  async function caller(): Promise<void> {
    while (left > 0) {
      const lines = Array.from({ length: Math.min(load.linesPerCall, left) }, next)
      left -= lines.length
      const outcomes = await store.history.append(lines)
      if (outcomes.some((outcome) => outcome.kind !== 'stored'))
        throw new Error('A message of the burst was not stored.')
    }
  }
  await Promise.all(Array.from({ length: load.callsInFlight }, caller))
}

async function medianOfLone(store: Store, next: () => IncomingMessage): Promise<number> {
  const times: number[] = []
  for (let index = 0; index < LONE_MESSAGES; index += 1) {
    const startedAt = performance.now()
    await store.history.append([next()])
    times.push(performance.now() - startedAt)
  }
  return median(times)
}

async function syncRate(store: Store, stations: readonly string[]): Promise<number> {
  const startedAt = performance.now()
  for (let index = 0; index < SYNCS; index += 1) await store.history.since(stations[index % stations.length]!, 0)
  return (SYNCS / (performance.now() - startedAt)) * 1000
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  for (const load of [BURST, { ...BURST, messages: 50_000, stations: 5000 }]) {
    console.log(JSON.stringify({ load, figures: await measureStore(load) }))
  }
}
