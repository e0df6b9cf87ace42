import { startAprsIs } from '../../fixtures/aprsis/server.ts'
import { planConnections } from '../../sidecar/aprsis/filters/plan.ts'
import { connectAprsIs } from '../../sidecar/aprsis/link.ts'
import { systemClock } from '../../sidecar/clock.ts'
import { createMetrics } from '../../sidecar/metrics.ts'
import { installGauges } from '../../sidecar/operator/gauges.ts'
import { obstaclesTo } from '../../sidecar/operator/page/obstacles.ts'
import { alone, type Measurement, median } from './measurement.ts'

const COUNTS = [5000, 50_000] as const
const ROUNDS = 15
const WARM_UP_ROUNDS = 5
const PLACES = 84

/**
 * CPU of this process at 5,000 and 50,000 stations on as many connections as they need, each logged in.
 * - `scrape`: the metrics once, and what `/readyz` asks;
 * - `plan`: what to do for one station more.
 */
export async function fleetBench(): Promise<readonly Measurement[]> {
  const rows: Measurement[] = []
  for (const count of COUNTS) rows.push(await scrapeRow(count), await planRow(count))
  return rows
}

async function scrapeRow(count: number): Promise<Measurement> {
  const server = await startAprsIs()
  const metrics = createMetrics()
  const link = connectAprsIs({
    settings: {
      host: server.host,
      port: server.port,
      callsign: 'N0CALL',
      passcode: 13023,
      maxConnections: PLACES,
      trackOutgoing: false,
      filterDebounceMs: 2000,
      listeners: 2,
      listen: true,
    },
    stations: () => stationsOf(count),
    onLines: async () => {},
    clock: systemClock,
    log: { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} },
    metrics,
  })
  try {
    while (!link.ready()) await changeOf(link)
    const obstacles = () => obstaclesTo({ upstream: link.status(), storeFault: undefined, gateways: [] })
    installGauges(metrics, {
      upstream: link.status,
      obstacles,
      stations: () => ({ android: count, ios: 0, webpush: 0 }),
      devices: () => ({ android: count, ios: 0, webpush: 0 }),
      maxStations: count,
      gateways: () => [],
      pushesUnderWay: () => 0,
      databaseBytes: async () => 0,
      instances: async () => 1,
      diskFreeBytes: async () => 0,
      certificateExpiresAt: () => undefined,
    })
    const scrape = async () => {
      await metrics.expose()
      if (obstacles().length > 0) throw new Error('Not ready.')
    }
    return alone(`scrape.${count}`, 'ms CPU', await cpuMs(scrape))
  } finally {
    await link.close()
    await server.close()
  }
}

async function planRow(count: number): Promise<Measurement> {
  const limits = { maxConnections: PLACES - 1, trackOutgoing: false }
  const stations = stationsOf(count)
  const carriers = planConnections(new Set(stations), [], limits, false).open.map((carried, id) => ({
    id,
    stations: carried,
    mustGo: false,
  }))
  const oneMore = new Set([...stations, 'K1ABC'])
  const plan = () => {
    const { leftOut } = planConnections(oneMore, carriers, limits, false)
    if (leftOut.length > 0) throw new Error('There is no room for one more.')
  }
  return alone(`plan.${count}`, 'ms CPU', await cpuMs(plan))
}

function changeOf(link: Pick<ReturnType<typeof connectAprsIs>, 'onStatus'>): Promise<void> {
  return new Promise((resolve) => {
    const stop = link.onStatus(() => {
      stop()
      resolve()
    })
  })
}

async function cpuMs(task: () => void | Promise<void>): Promise<number> {
  const rounds: number[] = []
  for (let round = 0; round < WARM_UP_ROUNDS + ROUNDS; round++) {
    const start = process.cpuUsage()
    await task()
    const { user, system } = process.cpuUsage(start)
    if (round >= WARM_UP_ROUNDS) rounds.push((user + system) / 1000)
  }
  return median(rounds)
}

/** With an SSID, so that a filter names each once, and 50,000 fit. */
function stationsOf(count: number): readonly string[] {
  return Array.from({ length: count }, (_, index) => `B${index + 10_000}X-7`)
}
