import { randomBytes } from 'node:crypto'
import { Agent } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { deflateSync } from 'node:zlib'
import { startPostgres } from '../../fixtures/demo/postgres.ts'
import { pngChunks, pngFile } from '../support/png-file.ts'
import { requestText } from './api.ts'
import { type BuiltSidecar, startBuiltSidecar } from './built-sidecar.ts'
import { alone, type Measurement, median, repeat } from './measurement.ts'
import { messageLine } from './message-flow.ts'
import { postJson } from './post-json.ts'
import { startProgram } from './program.ts'
import { claim } from './stations.ts'
import { type BareUpstream, bareUpstream } from './upstream.ts'

const STATIONS = 200
const STATIONS_PER_CALL = 50
/** Default limit of requests per minute from one address. */
const CALLS_PER_ADDRESS = 120
const CONNECTIONS_PER_ADDRESS = 60
const ATTACKERS = ['127.0.0.2', '127.0.0.3']
const ATTACK_MS = 10_000
const SAMPLE_MS = 20
const MAX_ACK_MS = 30_000
const ROUNDS = 5
const LISTENER = 'LISTENR'

/**
 * Measures the cost of an attack through `/v1/avatars` from two addresses, within all default limits. Each address
 * sends 120 requests for 50 avatars of 24 KB at once over 60 connections, and hardly reads the answers.
 *
 * - `avatars.rss`: the highest resident memory during the attack.
 * - `avatars.ack`: the slowest ack to messages that arrive one after the other during the attack.
 * - `avatars.ack.p99`: the ack of the slowest hundredth.
 * - `avatars.postgres.…`: the same on PostgreSQL.
 */
export async function avatarsBench(): Promise<readonly Measurement[]> {
  const onSqlite = await rowsOn('avatars')
  const postgres = await startPostgres({ durable: true })
  try {
    return [...onSqlite, ...(await rowsOn('avatars.postgres', postgres.address))]
  } finally {
    await postgres.stop()
  }
}

async function rowsOn(name: string, database?: string): Promise<readonly Measurement[]> {
  const rounds = await repeat(ROUNDS, () => attacked(database))
  const middle = (figure: 'rss' | 'slowest' | 'p99') => median(rounds.map((round) => round[figure]))
  return [
    alone(`${name}.rss`, 'MB', middle('rss')),
    alone(`${name}.ack`, 'ms', middle('slowest')),
    alone(`${name}.ack.p99`, 'ms', middle('p99')),
  ]
}

/** Measures one attack on a new process, because a process would reuse memory from an earlier attack. */
async function attacked(database: string | undefined) {
  const upstream = await bareUpstream()
  const aprsis = { host: '127.0.0.1', port: upstream.port, callsign: 'N0CALL', passcode: 13023, filterDebounceMs: 0 }
  const sidecar = await startBuiltSidecar({
    aprsis,
    rateLimit: { newStationsPerHour: 1_000_000 },
    ...(database !== undefined && { database }),
  })
  const attacker = await startProgram<typeof import('./avatars-attacker.ts')>('avatars-attacker.ts')
  try {
    const stations = await registerWithAvatars(sidecar)
    await upstream.client
    await ready(sidecar)
    const nextAck = acknowledged(upstream)
    await nextAck()
    let rss = sidecar.residentMegabytes()
    const sampling = setInterval(() => {
      rss = Math.max(rss, sidecar.residentMegabytes())
    }, SAMPLE_MS)
    const requests = Array.from({ length: CALLS_PER_ADDRESS }, (_, index) => avatarsRequest(stations, index))
    const order = { requests, addresses: ATTACKERS, connections: CONNECTIONS_PER_ADDRESS, durationMs: ATTACK_MS }
    let isOver = false
    const attack = attacker.call('attack', { ...order, port: Number(new URL(sidecar.url).port) }).finally(() => {
      isOver = true
    })
    const waits: number[] = []
    while (!isOver) {
      waits.push(await nextAck())
      await pause(SAMPLE_MS)
    }
    await attack
    clearInterval(sampling)
    const sorted = waits.toSorted((a, b) => a - b)
    return { rss, slowest: sorted.at(-1) ?? Number.NaN, p99: sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN }
  } finally {
    await attacker.close()
    await sidecar.close()
    upstream.close()
  }
}

/**
 * Resolves once the sidecar is ready. Before, a filter change may replace its connection, and messages that the bench
 * sends would be lost.
 */
async function ready({ adminUrl }: BuiltSidecar): Promise<void> {
  while (!(await fetch(`${adminUrl}/readyz`)).ok) await pause(SAMPLE_MS)
}

/** Returns a request for avatars. Every second request accepts gzip. */
function avatarsRequest(stations: readonly string[], index: number): string {
  const first = (index * STATIONS_PER_CALL) % STATIONS
  const headers: Record<string, string> = index % 2 === 0 ? { 'Accept-Encoding': 'gzip' } : {}
  const wanted = stations.slice(first, first + STATIONS_PER_CALL)
  return requestText('/v1/avatars', headers, { ...claim(LISTENER), stations: wanted })
}

/** Registers the stations from different addresses, because each address has a limit of requests. */
async function registerWithAvatars({ url }: BuiltSidecar): Promise<readonly string[]> {
  const stations = Array.from({ length: STATIONS }, (_, index) => `A${index + 1000}X`)
  for (const [index, callsign] of [LISTENER, ...stations].entries()) {
    const phone = { platform: 'android', pushToken: `token-of-${callsign}`, ackMessages: true }
    const avatar = { avatarUpdate: true, avatarImage: image() }
    const agent = new Agent({ localAddress: `127.0.1.${1 + Math.floor(index / 100)}` })
    const answer = await postJson(`${url}/v1/register`, { ...claim(callsign), ...phone, ...avatar }, { agent })
    const body = await text(answer)
    if (answer.statusCode !== 200) throw new Error(`register: ${answer.statusCode} ${body}`)
  }
  return stations
}

/** Returns an image of nearly 24,000 characters that hardly compresses. */
function image(): string {
  const rows = Array.from({ length: 64 }, () => Buffer.concat([Buffer.alloc(1), randomBytes(4 * 64)]))
  const text = { type: 'tEXt', data: Buffer.from(randomBytes(560).toString('base64')) }
  const chunks = pngChunks({ extra: [text] }).map((chunk) =>
    chunk.type === 'IDAT' ? { ...chunk, data: deflateSync(Buffer.concat(rows)) } : chunk,
  )
  return pngFile(chunks).toString('base64')
}

/** Returns a function that sends a message from a new sender, and resolves with the milliseconds until its ack. */
function acknowledged(upstream: BareUpstream): () => Promise<number> {
  const waiting = new Map<string, () => void>()
  // Random senders, because a reused database would take messages from known senders for duplicates.
  const sendersBegin = randomBytes(2).toString('hex').toUpperCase()
  let count = 0
  upstream.onLine((line) => {
    const [, sender = ''] = /::(\S+) *:ack/.exec(line) ?? []
    waiting.get(sender)?.()
    waiting.delete(sender)
  })
  return () => {
    count += 1
    const sender = `${sendersBegin}${count}`
    const begun = performance.now()
    return new Promise((resolve, reject) => {
      const deadline = setTimeout(() => reject(new Error('A message was not acknowledged.')), MAX_ACK_MS)
      waiting.set(sender, () => {
        clearTimeout(deadline)
        resolve(performance.now() - begun)
      })
      upstream.send(messageLine(sender, LISTENER, `Mark ${count}`, count))
    })
  }
}
