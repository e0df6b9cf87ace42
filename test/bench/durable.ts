import { type LoadedSidecar, startLoaded } from './loaded-sidecar.ts'
import { alternate, type Measurement, median } from './measurement.ts'

const MESSAGES = 10_000
const STATIONS = 5000
/** Who gets messages on a usual day. */
const BUSY = 100
const MESSAGES_EACH = 50
const ROUNDS = 5
const LONE_MESSAGES = 200

/**
 * From the APRS-IS socket to a durable row, in the built sidecar with 5,000 stations: a burst until the last message is stored, and a
 * lone message until its ack comes back, which is sent only once the row is durable. Throws when a message is lost.
 *
 * `pipeline.durable` is the worst that there is: every history is full, and the burst goes to all stations in turn, so that each
 * message is written to another place of the file and drops one there. `pipeline.rows` says what the size of the file costs: the same
 * burst to 100 stations with 250,000 rows in the file and with 5,000.
 */
export async function durableBench(): Promise<readonly Measurement[]> {
  const common = { stations: STATIONS, messagesEach: MESSAGES_EACH, firstAcknowledges: true }
  const small = await startLoaded({ ...common, withMessages: BUSY })
  const large = await startLoaded(common)
  try {
    const rates = await alternate(
      ROUNDS,
      () => burst(large, BUSY),
      () => burst(small, BUSY),
    )
    const worst: number[] = []
    for (let round = 0; round < ROUNDS; round += 1) worst.push(await burst(large, STATIONS))
    const alone = { peer: null, peerName: null, ratio: null }
    return [
      { name: 'pipeline.durable', unit: 'messages/s', ours: median(worst), ...alone },
      {
        name: 'pipeline.rows',
        unit: 'messages/s',
        ...rates,
        peerName: 'the same with 5,000 rows',
        ratio: rates.ours / rates.peer,
      },
      { name: 'pipeline.lone', unit: 'ms', ours: await loneMessage(large), ...alone },
      { name: 'pipeline.rss', unit: 'MB', ours: large.sidecar.residentMegabytes(), ...alone },
    ]
  } finally {
    await small.close()
    await large.close()
  }
}

/** Messages a second, until the last one is stored. */
export async function burst(loaded: LoadedSidecar, toStations: number): Promise<number> {
  const before = await loaded.storedCount()
  const begun = performance.now()
  loaded.send(MESSAGES, toStations)
  await loaded.stored(before + MESSAGES)
  return MESSAGES / ((performance.now() - begun) / 1000)
}

async function loneMessage({ upstream, stations }: LoadedSidecar): Promise<number> {
  const station = stations[0] as string
  const waits: number[] = []
  let acked: (line: string) => void = () => undefined
  upstream.onLine((line) => acked(line))
  for (let index = 0; index < LONE_MESSAGES; index += 1) {
    const ack = new Promise<string>((resolve) => {
      acked = resolve
    })
    const begun = performance.now()
    upstream.send(`L${index}ABC>APRS,TCPIP*,qAC,T2TEST::${station.padEnd(9)}:Alone ${index}{${index + 1}\r\n`)
    await ack
    waits.push(performance.now() - begun)
  }
  return median(waits)
}
