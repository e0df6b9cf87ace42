import { setTimeout as pause } from 'node:timers/promises'
import type { ServerFiles } from '../support/server-files.ts'
import { counter, startBuiltSidecar } from './built-sidecar.ts'
import { createMessages, flow, messageLine } from './message-flow.ts'
import { type Registrations, registerStations } from './stations.ts'
import { type BareUpstream, bareUpstream } from './upstream.ts'

const MOST_MS = 60_000
/** Each question costs the sidecar milliseconds that are not the messages'. */
const ASK_EVERY_MS = 1000
/** Messages in flight at once. */
const AT_ONCE = 10_000
/** More than one process is sent. */
const MESSAGES_APART = 100_000_000
/** It acknowledges, which none of the others does. */
const ACKNOWLEDGING = 'B999X'

/** The built sidecar with stations and messages in its database, and the network that they come from. */
export type LoadedSidecar = Awaited<ReturnType<typeof startLoaded>>

export interface Load extends Pick<Registrations, 'platform' | 'devices'> {
  readonly stations: number
  /** In the history of each station. */
  readonly messagesEach: number
  /** Where it stores; in a file where that is not given. */
  readonly database?: string
  /** Index of this sidecar among those that share the database. Each listens to messages of its own. */
  readonly place?: number
  readonly of?: number
  /** `push` of the configuration; where it is not given, no gateway is on. */
  readonly push?: object
  /** The API is served with TLS. */
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
  /** All but one more, which only tells by its acks what is stored. */
  const stations = Array.from({ length: count }, (_, index) => `B${index + 1000}X`)
  const all = [...stations, ACKNOWLEDGING]
  await registerStations(sidecar, all, { ...load, acknowledging: [ACKNOWLEDGING], ca: tls?.ca })
  await upstream.client
  const messages = createMessages(stations, place * MESSAGES_APART)
  /** Sends so many messages, all different, to one station after the other, of all or of the first so many. */
  const send = (count: number, ofStations?: number): void => upstream.send(messages(count, ofStations))
  const acks = acknowledgements(upstream, `M${place}`)
  /** Stored messages since the start, without those that request an ack. */
  const storedCount = async () => (await counter(sidecar, 'messages_stored')) - acks.count()
  const loaded = {
    sidecar,
    upstream,
    stations,
    send,
    /**
     * Sends so many a second, as evenly as timers allow, to all or to the first so many; `stop` says how many they
     * were.
     */
    flow: (perSecond: number, ofStations?: number) => flow(perSecond, (count) => send(count, ofStations)),
    /**
     * Sends one message more, and resolves once its ack comes back: then what was sent before is durable too. Asks the
     * sidecar nothing. Throws after a minute without.
     */
    acknowledged: acks.next,
    storedCount,
    /** Resolves once so many were stored since the start. Throws after a minute: messages were lost. */
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
 * What is sent to the station that acknowledges. Each is of another sender, since there is a limit of acks for each.
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
