import { setTimeout as pause } from 'node:timers/promises'
import { gauge } from './built-sidecar.ts'
import { type LoadedSidecar, startLoaded } from './loaded-sidecar.ts'
import { alone, beside, type Measurement, median, medians, untilSteady } from './measurement.ts'
import { messageLine } from './message-flow.ts'
import { type Program, startProgram } from './program.ts'
import { type PushGateway, startPushGateway } from './push-gateway.ts'
import type { KeptPush } from './push-gateway-server.ts'
import { type Phone, pushTokenOf } from './stations.ts'

const STATIONS = 5000
const MOST_WINDOWS = 8
const ANSWERS_MS = [0, 100] as const
/** The default of `push.coalesceMs`. It is long enough to store a whole burst before the first push. */
const COALESCE_MS = 2000
const SETTLED_WITHIN_MS = 60_000
const ASK_EVERY_MS = 200
const LONE_MESSAGES = 100
/** Interval between single messages. No message is sent at the moment at which the window of another ends. */
const LONE_EVERY_MS = 53

const SERVICES = [
  {
    service: 'fcm',
    platform: 'android',
    /** Limit of pushes in flight, as in the sidecar. */
    inFlight: 100,
    peerName: 'bare node:https, 100 in flight too: builds no request, reads no database, notes no answer',
  },
  {
    service: 'apns',
    platform: 'ios',
    inFlight: 500,
    peerName: 'bare node:http2, 500 in flight too: builds no request, reads no database, notes no answer',
  },
] as const
type Service = (typeof SERVICES)[number]

/**
 * Measures the built sidecar with the vendors' real client libraries: 5,000 stations with one message each. The gateway
 * is in its own process and accepts everything.
 *
 * - `push.fcm`, `push.apns`: pushes per second at the gateway, from the first to the last answer. The gateway answers
 *   at once. Our pushes become due at the rate at which their messages were stored; the peer has all of them at once.
 *   `….cpu` is the sidecar's CPU time for each push, from the end of storing to the last outcome.
 * - `….100`, `….100.cpu`: the same with answers after 100 ms.
 * - `push.latency`, `push.latency.apns`: the time from sending the line of a single message until its push arrives,
 *   minus the coalescing window.
 *
 * The peer sends exactly the same requests as the sidecar. By profile, the HTTPS client of Node.js takes 37 % of
 * the CPU time of a push to FCM; the peer needs it too. The sidecar with its agent takes 30 %, garbage collection 14 %,
 * and `firebase-admin` 16 %, because it builds each request from scratch. `AsyncLocalStorage` relates a request to its
 * notification. Before Node.js 24, it slows down every promise.
 */
export async function pushBench(): Promise<readonly Measurement[]> {
  const bursts: Measurement[] = []
  const latencies: Measurement[] = []
  for (const item of SERVICES) {
    const { rows, latencyMs } = await measured(item)
    bursts.push(...rows)
    const name = item.service === 'fcm' ? 'push.latency' : `push.latency.${item.service}`
    latencies.push(alone(name, 'ms', latencyMs))
  }
  return [...bursts, ...latencies]
}

async function measured(single: Service): Promise<{ rows: readonly Measurement[]; latencyMs: number }> {
  const gateway = await startPushGateway(single.service)
  const peer: Sides['peer'] = await startProgram('push-peer.ts')
  const push = { ...gateway.settings, coalesceMs: COALESCE_MS }
  await gateway.call('expect', 1, 0, false)
  const loaded = await startLoaded({ stations: STATIONS - 1, messagesEach: 0, platform: single.platform, push })
  try {
    // The acknowledging station has received a message by now. Wait until its pushes are sent.
    await gateway.call('burst')
    await settled(loaded)
    const sides = { loaded, gateway, peer }
    // The first run of each side only warms it up.
    const { pushes } = await burst(sides, 0, true)
    const { service, inFlight } = single
    await peer.call('open', { service, inFlight, port: gateway.port, ca: gateway.ca, pushes })
    checkSame(pushes, (await peerBurst(sides, 0, true)).pushes)
    const rows: Measurement[] = []
    for (const answerMs of ANSWERS_MS) rows.push(...(await burstRows(single, sides, answerMs)))
    return { rows, latencyMs: await latency(sides, single.platform) }
  } finally {
    await loaded.close()
    await peer.close()
    await gateway.close()
  }
}

interface Sides {
  readonly loaded: LoadedSidecar
  readonly gateway: PushGateway
  readonly peer: Program<typeof import('./push-peer.ts')>
}

async function burstRows(
  { service, peerName }: Service,
  sides: Sides,
  answerMs: number,
): Promise<readonly Measurement[]> {
  const turns = await untilSteady(MOST_WINDOWS, 'perSecond', {
    ours: () => burst(sides, answerMs),
    peer: () => peerBurst(sides, answerMs),
  })
  const [rate, cpu] = [medians(turns, 'perSecond'), medians(turns, 'cpuUs')]
  const name = `push.${service}${answerMs === 0 ? '' : `.${answerMs}`}`
  return [beside(`${name}.cpu`, 'µs CPU/push', cpu, peerName, 'less'), beside(name, 'pushes/s', rate, peerName)]
}

/** @returns the pushes, if `keeps` is set, and the CPU time of one push */
async function burst({ loaded, gateway }: Pick<Sides, 'loaded' | 'gateway'>, answerMs: number, keeps = false) {
  await gateway.call('expect', STATIONS, answerMs, keeps)
  loaded.send(loaded.stations.length)
  await loaded.acknowledged()
  const usageBefore = loaded.sidecar.cpuMicroseconds()
  if ((await gateway.call('arrived')) > 0) throw new Error(`It took longer than ${COALESCE_MS} ms to store a burst.`)
  const { seconds, pushes } = await gateway.call('burst')
  await settled(loaded)
  const cpuUs = (loaded.sidecar.cpuMicroseconds() - usageBefore) / STATIONS
  return { perSecond: STATIONS / seconds, cpuUs, pushes }
}

async function peerBurst({ gateway, peer }: Pick<Sides, 'gateway' | 'peer'>, answerMs: number, keeps = false) {
  await gateway.call('expect', STATIONS, answerMs, keeps)
  const cpuUs = await peer.call('send')
  const { seconds, pushes } = await gateway.call('burst')
  return { perSecond: STATIONS / seconds, cpuUs: cpuUs / STATIONS, pushes }
}

/** Throws unless the gateway received the same pushes from both sides, in any order. */
function checkSame(product: readonly KeptPush[], peers: readonly KeptPush[]): void {
  const textOf = ({ path, headers, body }: KeptPush) =>
    JSON.stringify([path, Object.entries(headers).toSorted(([a], [b]) => (a < b ? -1 : 1)), body])
  const textsOfPeer = peers.map(textOf).toSorted()
  for (const [index, text] of product.map(textOf).toSorted().entries())
    if (text !== textsOfPeer[index])
      throw new Error(`The peer does not send the same: not ${text}, but ${textsOfPeer[index]}`)
}

/** Resolves once no notification is in flight, and the database has all outcomes. */
async function settled({ sidecar }: LoadedSidecar): Promise<void> {
  for (const begun = performance.now(); (await gauge(sidecar, 'pushes_under_way')) > 0; ) {
    if (performance.now() - begun > SETTLED_WITHIN_MS) throw new Error('The pushes did not come to an end.')
    await pause(ASK_EVERY_MS)
  }
}

/** Returns the latency of a single push, in milliseconds. */
async function latency({ loaded, gateway }: Pick<Sides, 'loaded' | 'gateway'>, platform: Phone): Promise<number> {
  await gateway.call('expect', LONE_MESSAGES, 0, true)
  const stations = loaded.stations.slice(0, LONE_MESSAGES)
  const sentUs: number[] = []
  for (const [index, station] of stations.entries()) {
    await pause(LONE_EVERY_MS)
    sentUs.push(Number(process.hrtime.bigint() / 1000n))
    loaded.upstream.send(messageLine('L1ABC', station, `Alone ${index}`, index + 1))
  }
  const { pushes } = await gateway.call('burst')
  return median(
    stations.map((station, index) => {
      const token = pushTokenOf(station, platform)
      const push = pushes.find(({ path, body }) => path.includes(token) || body.includes(`"${token}"`))
      if (!push) throw new Error(`The phone of ${station} was not told.`)
      return (push.atUs - (sentUs[index] as number)) / 1000 - COALESCE_MS
    }),
  )
}
