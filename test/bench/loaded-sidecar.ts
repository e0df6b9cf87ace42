import { setTimeout as pause } from 'node:timers/promises'
import type { ServerFiles } from '../support/server-files.ts'
import { counter, startBuiltSidecar } from './built-sidecar.ts'
import { createMessages, flow, messageLine } from './message-flow.ts'
import { type Registrations, registerStations } from './stations.ts'
import { type BareUpstream, bareUpstream } from './upstream.ts'

const MOST_MS = 60_000
/**
 * Interval between two reads of a counter. Each costs the sidecar milliseconds, which would distort the measurement.
 */
const ASK_EVERY_MS = 1000
/** Limit of messages in flight. */
const AT_ONCE = 10_000
/** Distance between the first message numbers of two processes, so that no two messages have the same number. */
const MESSAGES_APART = 100_000_000
/** The only station that acknowledges messages. */
const ACKNOWLEDGING = 'B999X'

/** The built sidecar with stations and messages in its database, and the APRS-IS server that sends the messages. */
export type LoadedSidecar = Awaited<ReturnType<typeof startLoaded>>

export interface Load extends Pick<Registrations, 'platform' | 'devices'> {
  readonly stations: number
  /** Number of messages in the history of each station. */
  readonly messagesEach: number
  /** Address of the database. Default: a SQLite file. */
  readonly database?: string
  /** Index of this sidecar among the `of` sidecars that share the database. Each receives other messages. */
  readonly place?: number
  readonly of?: number
  /** The object `push` of the configuration. Default: no gateway. */
  readonly push?: object
  /** Files with which the API serves TLS. Default: plain HTTP. */
  readonly tls?: ServerFiles
}

export async function startLoaded(load: Load) {
  const { stations: count, messagesEach, database, place = 0, of: instances = 1, push, tls } = load
  const upstream = await bareUpstream()
  const sidecar = await startBuiltSidecar({
    aprsis: {
      host: '127.0.0.1',
      port: upstream.port,
      callsign: 'N0CALL',
      passcode: 13023,
      filterDebounceMs: 0,
      ...(instances > 1 && { listeners: instances }),
    },
    ...(instances > 1 && { instance: `bench-${place}` }),
    rateLimit: { windowMs: 1000, max: 1_000_000_000, newStationsPerHour: 1_000_000, connectionsPerAddress: 10_000 },
    stations: { max: count + 1 },
    ...(database === undefined ? {} : { database }),
    ...(push === undefined ? {} : { push }),
    ...(tls === undefined ? {} : { listen: { port: 0, certFile: tls.certFile, keyFile: tls.keyFile } }),
  })
  /** All stations except the acknowledging one, whose acks only show what is stored. */
  const stations = Array.from({ length: count }, (_, index) => `B${index + 1000}X`)
  const all = [...stations, ACKNOWLEDGING]
  await registerStations(sidecar, all, { ...load, acknowledging: [ACKNOWLEDGING], ca: tls?.ca })
  await upstream.client
  const messages = createMessages(stations, place * MESSAGES_APART)
  /** Sends `count` different messages to all stations in turn, or to the first `ofStations`. */
  const send = (count: number, ofStations?: number): void => upstream.send(messages(count, ofStations))
  const acks = acknowledgements(upstream, `M${place}`)
  /** Returns the number of stored messages since the start, without those that request an ack. */
  const storedCount = async () => (await counter(sidecar, 'messages_stored')) - acks.count()
  const loaded = {
    sidecar,
    upstream,
    stations,
    send,
    /**
     * Sends `perSecond` messages per second, as evenly as timers allow, to all stations or to the first `ofStations`.
     * `stop` returns the number of sent messages.
     */
    flow: (perSecond: number, ofStations?: number) => flow(perSecond, (count) => send(count, ofStations)),
    /**
     * Sends one more message, and resolves once its ack arrives. Then all earlier messages are durable too. Throws if
     * no ack arrives within a minute.
     */
    acknowledged: acks.next,
    storedCount,
    /**
     * Resolves once this many messages have been stored since the start. Throws after a minute, because messages were
     * lost.
     */
    async stored(wanted: number) {
      await acks.next()
      for (const begun = performance.now(); ; ) {
        const now = await storedCount()
        if (now >= wanted) return
        if (performance.now() - begun > MOST_MS) throw new Error(`lost messages: only ${now} of ${wanted} were stored`)
        await pause(ASK_EVERY_MS)
      }
    },
    async close() {
      await sidecar.close()
      upstream.close()
    },
  }
  const wanted = stations.length * messagesEach
  for (let sent = 0; sent < wanted; sent += AT_ONCE) {
    send(Math.min(AT_ONCE, wanted - sent))
    await acks.next()
  }
  await loaded.stored(wanted)
  return loaded
}

/**
 * Sends messages to the acknowledging station, and waits for their acks. Each message has another sender, because each
 * sender has a limit of acks.
 */
function acknowledgements(upstream: BareUpstream, begin: string) {
  const waiting = new Map<string, () => void>()
  let count = 0
  upstream.onLine((line) => {
    const [, sender = ''] = /::(\S+) *:ack/.exec(line) ?? []
    waiting.get(sender)?.()
    waiting.delete(sender)
  })
  return {
    count: () => count,
    async next() {
      count += 1
      const sender = `${begin}A${count}`
      await new Promise<void>((resolve, reject) => {
        const deadline = setTimeout(() => reject(new Error('A message was not acknowledged.')), MOST_MS)
        waiting.set(sender, () => {
          clearTimeout(deadline)
          resolve()
        })
        upstream.send(messageLine(sender, ACKNOWLEDGING, `Mark ${count}`, count))
      })
    },
  }
}
