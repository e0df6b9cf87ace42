import { passcodeOf } from '../../sidecar/index.ts'
import { type BuiltSidecar, counter, startBuiltSidecar } from './built-sidecar.ts'
import { registerStations } from './stations.ts'
import { type BareUpstream, bareUpstream } from './upstream.ts'

const MOST_MS = 60_000

/** The built sidecar with stations and messages in its database, and the network that they come from. */
export interface LoadedSidecar {
  readonly sidecar: BuiltSidecar
  readonly upstream: BareUpstream
  readonly stations: readonly string[]
  /** Sends so many messages, all different, to one station after the other, of all or of the first so many. */
  send(count: number, ofStations?: number): void
  /** Sends so many a second, as evenly as timers allow, to all or to the first so many; `stop` says how many they were. */
  flow(perSecond: number, ofStations?: number): { stop(): number }
  /** Of all messages, since the start. */
  storedCount(): Promise<number>
  /** Resolves once so many were stored since the start. Throws after a minute: messages were lost. */
  stored(count: number): Promise<void>
  close(): Promise<void>
}

export interface Load {
  readonly stations: number
  /** In the history of each station that has any: all of them, or the first so many. */
  readonly messagesEach: number
  readonly withMessages?: number
  /** The first station acknowledges; then the sidecar is logged in as one that may. */
  readonly firstAcknowledges?: boolean
  /** Where it stores; in a file where that is not given. */
  readonly database?: string
}

export async function startLoaded({
  stations: count,
  messagesEach,
  withMessages = count,
  firstAcknowledges,
  database,
}: Load): Promise<LoadedSidecar> {
  const upstream = await bareUpstream()
  const sidecar = await startBuiltSidecar({
    aprsis: { host: '127.0.0.1', port: upstream.port, callsign: 'N0CALL', passcode: 13023, filterDebounceMs: 0 },
    rateLimit: { windowMs: 1000, max: 1_000_000_000, newStationsPerHour: 1_000_000, connectionsPerAddress: 10_000 },
    ...(database === undefined ? {} : { database }),
  })
  const stations = Array.from({ length: count }, (_, index) => `B${index + 1000}X`)
  await registerStations(sidecar, stations, firstAcknowledges ? stations.slice(0, 1) : [])
  await upstream.client
  // The first one is left out where it acknowledges, so that acks do not count in what is sent to all.
  const receivers = firstAcknowledges ? stations.slice(1) : stations
  let index = 0
  const send = (messages: number, ofStations = receivers.length): void => {
    const lines: string[] = []
    for (const end = index + messages; index < end; index += 1) {
      const station = receivers[index % Math.min(ofStations, receivers.length)] as string
      const text = `Message number ${index}, as long as such texts commonly are, 73`
      lines.push(
        `K${index % 977}ABC-7>APRS,TCPIP*,qAC,T2TEST::${station.padEnd(9)}:${text}{${(index % 90_000) + 1}\r\n`,
      )
    }
    upstream.send(lines.join(''))
  }
  const storedCount = () => counter(sidecar, 'messages_stored')
  const loaded: LoadedSidecar = {
    sidecar,
    upstream,
    stations,
    send,
    flow(perSecond, ofStations) {
      const begun = performance.now()
      let sent = 0
      const timer = setInterval(() => {
        const due = Math.floor(((performance.now() - begun) / 1000) * perSecond) - sent
        if (due <= 0) return
        sent += due
        send(due, ofStations)
      }, 1)
      return {
        stop() {
          clearInterval(timer)
          return sent
        },
      }
    },
    storedCount,
    async stored(wanted) {
      const begun = performance.now()
      for (;;) {
        const now = await storedCount()
        if (now >= wanted) return
        if (performance.now() - begun > MOST_MS) throw new Error(`lost messages: only ${now} of ${wanted} were stored`)
      }
    },
    async close() {
      await sidecar.close()
      upstream.close()
    },
  }
  const first = Math.min(withMessages, receivers.length)
  send(first * messagesEach, first)
  await loaded.stored(first * messagesEach)
  return loaded
}

/** What every call of the API says of the station. */
export function claim(callsign: string) {
  return { callsign, ssid: 0, auth: passcodeOf(callsign) }
}
