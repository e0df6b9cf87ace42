import { setTimeout as pause } from 'node:timers/promises'
import { type LoadedSidecar, startLoaded } from './loaded-sidecar.ts'
import { alone, beside, type Measurement, median, medianOf, medians, repeat, untilSteady } from './measurement.ts'
import { startPushGateway } from './push-gateway.ts'

/** Number of messages in a burst. */
export const MESSAGES = 10_000
const STATIONS = 5000
const DEVICES = 3
/**
 * Messages for each station before the measurement. A ring holds 50 of them. The memory for recognizing duplicates is
 * full too, so each new message displaces an old one.
 */
const MESSAGES_EACH = 72
const MOST_WINDOWS = 8
/** So many that each window has one or two checkpoints of the database, which come with every third burst. */
export const BURSTS_A_WINDOW = 5
const LONE_MESSAGES = 200

/** The longest allowed coalescing window, so that no push is due while the bench runs. */
export const COALESCE_MS = 600_000
const TRICKLE_PER_SECOND = 1000
const TRICKLE_MS = 3000

/**
 * Measures the way of messages from the APRS-IS socket to a durable row, in the built sidecar with 5,000 stations. A
 * burst lasts until its last message is stored. A lone message lasts until its ack, which follows the durable row.
 * Throws if a message is lost. Each message schedules a push, but none is sent, because the coalescing window is longer
 * than the bench.
 *
 * - `pipeline.durable`: the worst case. Every history is full and the burst goes to all stations in turn, so each
 *   message drops one of another station. `….cpu` is the CPU time of a message, `….bytes` what the sidecar writes.
 * - `pipeline.trickle`, `….bytes`: the same at 1,000 messages per second, with fewer messages in one commit.
 * - `pipeline.devices`, `….cpu`: the worst burst to stations with three devices, so three pushes for each message. The
 *   peer has stations with one device.
 */
export async function durableBench(): Promise<readonly Measurement[]> {
  const gateway = await startPushGateway('fcm')
  const push = { ...gateway.settings, coalesceMs: COALESCE_MS }
  const common = { stations: STATIONS, messagesEach: MESSAGES_EACH, push }
  const large = await startLoaded(common)
  const shared = await startLoaded({ ...common, devices: DEVICES })
  try {
    const { worst, several, trickle } = await untilSteady(MOST_WINDOWS, 'perSecond', {
      worst: () => burstsOf(large, STATIONS),
      several: () => burstsOf(shared, STATIONS),
      trickle: () => trickled(large),
    })
    const devices = { ours: several, peer: worst }
    const peer = 'the same with one device a station'
    return [
      alone('pipeline.durable.cpu', 'µs CPU/message', medianOf(worst, 'cpuUs')),
      alone('pipeline.durable', 'messages/s', medianOf(worst, 'perSecond')),
      alone('pipeline.durable.bytes', 'bytes/message', meanBytes(worst)),
      alone('pipeline.trickle', 'µs CPU/message', medianOf(trickle, 'cpuUs')),
      alone('pipeline.trickle.bytes', 'bytes/message', meanBytes(trickle)),
      beside('pipeline.devices.cpu', 'µs CPU/message', medians(devices, 'cpuUs'), peer, 'less'),
      beside('pipeline.devices', 'messages/s', medians(devices, 'perSecond'), peer),
      alone('pipeline.lone', 'ms', await loneMessage(large)),
      alone('pipeline.rss', 'MB', large.sidecar.residentMegabytes()),
    ]
  } finally {
    await large.close()
    await shared.close()
    await gateway.close()
  }
}

type Cost = Awaited<ReturnType<typeof costOf>>

/** Returns the mean, and not the median, because not all windows have as many checkpoints. */
function meanBytes(costs: readonly Cost[]): number {
  return costs.reduce((sum, cost) => sum + cost.bytes, 0) / costs.length
}

/**
 * Returns the cost of one message. `send` sends messages, and returns their number. Throws unless all of them are
 * stored.
 */
async function costOf(loaded: LoadedSidecar, send: () => number | Promise<number>) {
  const { sidecar } = loaded
  const countBefore = await loaded.storedCount()
  const [cpu, bytes, begun] = [sidecar.cpuMicroseconds(), sidecar.writtenBytes(), performance.now()]
  const count = await send()
  await loaded.acknowledged()
  const seconds = (performance.now() - begun) / 1000
  const cost = {
    perSecond: count / seconds,
    cpuUs: (sidecar.cpuMicroseconds() - cpu) / count,
    bytes: (sidecar.writtenBytes() - bytes) / count,
  }
  await loaded.stored(countBefore + count)
  return cost
}

/** Returns the cost of a message in successive bursts, which make one window. */
export async function burstsOf(loaded: LoadedSidecar, toStations: number): Promise<Cost> {
  const costs = await repeat(BURSTS_A_WINDOW, () => costOfBurst(loaded, toStations))
  const mean = (figure: (cost: Cost) => number) => costs.reduce((sum, cost) => sum + figure(cost), 0) / costs.length
  return {
    perSecond: 1 / mean(({ perSecond }) => 1 / perSecond),
    cpuUs: mean(({ cpuUs }) => cpuUs),
    bytes: mean(({ bytes }) => bytes),
  }
}

function costOfBurst(loaded: LoadedSidecar, toStations: number): Promise<Cost> {
  return costOf(loaded, () => {
    loaded.send(MESSAGES, toStations)
    return MESSAGES
  })
}

function trickled(loaded: LoadedSidecar): Promise<Cost> {
  return costOf(loaded, async () => {
    const flow = loaded.flow(TRICKLE_PER_SECOND, STATIONS)
    await pause(TRICKLE_MS)
    return flow.stop()
  })
}

async function loneMessage(loaded: LoadedSidecar): Promise<number> {
  const waits = await repeat(LONE_MESSAGES, async () => {
    const begun = performance.now()
    await loaded.acknowledged()
    return performance.now() - begun
  })
  return median(waits)
}
