import type { Clock, Timer } from '../clock.ts'
import type { AprsisSettings } from '../config/settings.ts'
import type { Log } from '../log.ts'
import type { StationKey } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'
import type { Connect } from './connection/connect-tcp.ts'
import { createFleet, type Fleet, type FleetConnection } from './fleet.ts'
import { handover } from './handover.ts'
import { type CallsignSource, ownCallsigns } from './listeners/callsign-source.ts'
import { type Election, joinElection, type Shared } from './listeners/election.ts'
import type { Listener } from './listeners/listeners.ts'
import { loginCallsignCount } from './listeners/login-callsigns.ts'

export interface LinkOptions {
  readonly settings: AprsisSettings
  /** The registered stations, asked for at the start and after each {@link Link.refilter}. */
  stations(): Iterable<StationKey>
  /**
   * Packet lines in the order of arrival, as Latin-1 and without line ends, those of one socket read together. Settles
   * when they are dealt with; while more than 5,000 are not, the sockets are not read.
   */
  onLines(lines: readonly string[]): Promise<void>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** What opens connections; TCP where nothing is said. */
  readonly connect?: Connect | undefined
  /** From 0 to below 1; spreads reconnects. */
  random?(): number
  /** What decides which of several processes listen; without it this one has APRS-IS for itself. */
  readonly shared?: Shared | undefined
}

export interface LinkStatus {
  /** Every station for which there is room is in a filter that a server confirmed. */
  readonly ready: boolean
  /** At least one login is up. */
  readonly connected: boolean
  /** At least one login is verified: acks can be sent. */
  readonly verified: boolean
  /** Reading stopped because the pipeline does not keep up. */
  readonly paused: boolean
  /** Stations for which there is no room within `aprsis.maxConnections`. */
  readonly leftOut: number
  /** Oldest first; their number changes for some seconds while filters change. */
  readonly connections: readonly FleetConnection[]
  /** Which of the listeners this instance is, from 0; null while it is none. */
  readonly listener: number | null
  /** How many instances listen, this one included, and how many should. */
  readonly listeners: { readonly held: number; readonly wanted: number }
  /** The other instances that listen, as they were seen last; by slot. */
  readonly others: readonly Listener[]
}

/** What the rest of the sidecar sees of APRS-IS. */
export interface Link {
  /**
   * The set of stations may have changed: takes effect `filterDebounceMs` later, together with what else changes till
   * then.
   */
  refilter(): void
  /**
   * Sends a packet line without line end; false when no verified login is up, or it is over 509 bytes, or no packet.
   */
  send(line: string): boolean
  /** Whether a verified login is up now. */
  verified(): boolean
  ready(): boolean
  /** What keeps stations unheard for good, until somebody changes the configuration. */
  problems(): readonly 'upstream_no_call'[]
  status(): LinkStatus
  /** Calls `listener` after changes of the status; returns what ends that. */
  onStatus(listener: () => void): () => void
  /**
   * Ends all connections, then releases what this instance held to the others. Hands over no further lines, and
   * resolves when those handed over before are settled, so that the store stays open for them. Idempotent.
   */
  close(): Promise<void>
}

/** Says where nothing can be sent. */
export function warnOfReceiving({ passcode }: Pick<AprsisSettings, 'passcode'>, log: Pick<Log, 'warn'>): void {
  if (passcode === -1)
    log.warn('upstream-receive-only', 'aprsis.passcode is -1: messages are received, acks cannot be sent.')
}

/** Connects to APRS-IS and stays connected until closed, asking for messages to the registered stations only. */
export function connectAprsIs(options: LinkOptions): Link {
  const { settings, clock, log, shared } = options
  const listeners = new Set<() => void>()
  // Whoever has no call of its own could never log in.
  const slots = shared ? Math.min(settings.listeners, loginCallsignCount(settings.callsign)) : 1
  let fleet: Fleet | undefined
  /** Connections that end; their calls are in use till then. */
  const ending = new Set<Fleet>()
  let election: Election | undefined
  let debounce: Timer | undefined
  let closing = false

  function tell(): void {
    for (const listener of listeners) listener()
  }

  const lines = handover(options.onLines, log, (full) => {
    if (full) fleet?.pause()
    else fleet?.resume()
    tell()
  })

  function listen(calls: CallsignSource): void {
    fleet = createFleet({
      connect: options.connect,
      settings,
      clock,
      log,
      metrics: options.metrics,
      calls,
      sharers: slots,
      random: options.random ?? Math.random,
      avoids: (server) => election?.others.some(({ servers }) => servers.includes(server)) ?? false,
      onLines: (received) => {
        if (!closing) lines.take(received)
      },
      onChange: tell,
    })
    if (lines.full) fleet.pause()
    fleet.setStations(new Set(options.stations()))
  }

  async function stopListening(): Promise<void> {
    const last = fleet
    if (!last) return
    fleet = undefined
    ending.add(last)
    tell()
    await last.close()
    ending.delete(last)
  }

  /** Of two that found themselves on one server at the same time, the later slot goes. */
  function keepApart(): void {
    const earlier = election?.others.filter(({ slot }) => slot < (election?.slot ?? 0)) ?? []
    if (earlier.length > 0) fleet?.moveFrom(new Set(earlier.flatMap(({ servers }) => servers)))
  }

  function join(others: Shared): Election {
    return joinElection({
      ...others,
      settings,
      slots,
      clock,
      log,
      callsInUse: () => new Set([...(fleet ? [fleet] : []), ...ending].flatMap((one) => [...one.callsInUse()])),
      servers: () => fleet?.servers() ?? new Set(),
      onElected: (calls) => listen(calls),
      onDeposed: () => void stopListening(),
      onCalls: () => fleet?.retry(),
      onCallsLost: (lost) => fleet?.dropCalls(lost),
      onLook() {
        keepApart()
        tell()
      },
    })
  }

  if (settings.listen) warnOfReceiving(settings, log)
  if (shared) election = join(shared)
  else if (settings.listen) listen(ownCallsigns(settings.callsign))

  return {
    refilter() {
      // Runs from the first change on: a steady stream of them cannot put it off.
      if (closing || debounce) return
      debounce = clock.after(settings.filterDebounceMs, () => {
        debounce = undefined
        fleet?.setStations(new Set(options.stations()))
      })
    },
    send: (line) => fleet?.send(line) ?? false,
    verified: () => fleet?.verified() ?? false,
    ready: () => fleet?.ready() ?? false,
    problems: () => (fleet?.outOfCalls ? ['upstream_no_call'] : []),
    status() {
      const connections = fleet?.connections() ?? []
      const others = election?.others ?? []
      return {
        // Looks at all connections, and after a change at all stations, for a few of those who ask.
        get ready() {
          return fleet?.ready() ?? false
        },
        connected: connections.some(({ server }) => server !== null),
        verified: connections.some(({ verified }) => verified),
        paused: lines.full,
        leftOut: fleet?.leftOut ?? 0,
        connections,
        listener: fleet ? (election?.slot ?? 0) : null,
        listeners: { held: others.length + (fleet ? 1 : 0), wanted: election?.wanted ?? slots },
        others,
      }
    },
    onStatus(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      closing = true
      debounce?.cancel()
      election?.stop()
      await Promise.all([fleet, ...ending].map((one) => one?.close()))
      await Promise.all([election?.release(), lines.allSettled()])
    },
  }
}
