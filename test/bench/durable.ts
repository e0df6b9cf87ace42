import { type LoadedSidecar, startLoaded } from './loaded-sidecar.ts'
import { alternate, type Measurement, median } from './measurement.ts'

const MESSAGES = 10_000
const STATIONS = 5000
const MESSAGES_EACH = 50
const ROUNDS = 5
const LONE_MESSAGES = 200

/**
 * From the APRS-IS socket to a durable row, in the built sidecar with 5,000 stations: a burst to all of them until the last one is
 * stored, with few rows and with 250,000 in the file; and a lone message until its ack comes back, which is sent only once the row is
 * durable. Throws when a message is lost.
 */
export async function durableBench(): Promise<readonly Measurement[]> {
  const few = await startLoaded({ stations: STATIONS, messagesEach: 0, firstAcknowledges: true })
  const many = await startLoaded({ stations: STATIONS, messagesEach: MESSAGES_EACH, firstAcknowledges: true })
  try {
    await burst(few)
    const rates = await alternate(
      ROUNDS,
      () => burst(few),
      () => burst(many),
    )
    const alone = { peer: null, peerName: null, ratio: null }
    return [
      { name: 'pipeline.durable', unit: 'messages/s', ours: rates.ours, ...alone },
      {
        name: 'pipeline.durable.full',
        unit: 'messages/s',
        ours: rates.peer,
        peer: rates.ours,
        peerName: 'the same with few rows',
        ratio: rates.peer / rates.ours,
      },
      { name: 'pipeline.lone', unit: 'ms', ours: await loneMessage(few), ...alone },
      { name: 'pipeline.rss', unit: 'MB', ours: many.sidecar.residentMegabytes(), ...alone },
    ]
  } finally {
    await few.close()
    await many.close()
  }
}

async function burst(loaded: LoadedSidecar): Promise<number> {
  const before = await loaded.storedCount()
  const begun = performance.now()
  loaded.send(MESSAGES)
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
