import type { Clock, Timer } from '../clock.ts'
import type { AprsisSettings } from '../config/settings.ts'
import type { Log } from '../log.ts'
import type { StationKey } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'
import { createFleet, type FleetConnection } from './fleet.ts'
import { handover } from './handover.ts'

export interface LinkOptions {
  readonly settings: AprsisSettings
  /** The registered stations, asked for at the start and after each {@link Link.refilter}. */
  stations(): Iterable<StationKey>
  /**
   * Packet lines in the order of arrival, as Latin-1 and without line ends, those of one socket read together. Settles when they are
   * dealt with; while more than 5,000 are not, the sockets are not read.
   */
  onLines(lines: readonly string[]): Promise<void>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** From 0 to below 1; spreads reconnects. */
  random?(): number
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
}

/** What the rest of the sidecar sees of APRS-IS. */
export interface Link {
  /** The set of stations may have changed: takes effect `filterDebounceMs` later, together with what else changes till then. */
  refilter(): void
  /** Sends a packet line without line end; false when no verified login is up, or it is over 509 bytes, or no packet. */
  send(line: string): boolean
  /** Whether a verified login is up now. */
  verified(): boolean
  ready(): boolean
  /** What keeps stations unheard for good, until somebody changes the configuration. */
  problems(): readonly 'upstream_no_call'[]
  status(): LinkStatus
  /** Calls `listener` after changes of the status; returns what ends that. */
  onStatus(listener: () => void): () => void
  /** Ends all connections; twice is fine. No lines are handed over afterwards. */
  close(): Promise<void>
}

/** Says where nothing can be sent. */
export function warnOfReceiving({ passcode }: Pick<AprsisSettings, 'passcode'>, log: Pick<Log, 'warn'>): void {
  if (passcode === -1)
    log.warn('upstream-receive-only', 'aprsis.passcode is -1: messages are received, acks cannot be sent.')
}

/** Connects to APRS-IS and stays connected until closed, asking for messages to the registered stations only. */
export function connectAprsIs(options: LinkOptions): Link {
  const { settings, clock, log } = options
  const listeners = new Set<() => void>()
  let debounce: Timer | undefined
  let closing = false

  function tell(): void {
    for (const listener of listeners) listener()
  }

  const lines = handover(options.onLines, log, (full) => {
    if (full) fleet.pause()
    else fleet.resume()
    tell()
  })
  const fleet = createFleet({
    settings,
    clock,
    log,
    metrics: options.metrics,
    random: options.random ?? Math.random,
    onLines: (received) => {
      if (!closing) lines.take(received)
    },
    onChange: tell,
  })

  warnOfReceiving(settings, log)
  fleet.setStations(new Set(options.stations()))

  return {
    refilter() {
      // Runs from the first change on: a steady stream of them cannot put it off.
      if (closing || debounce) return
      debounce = clock.after(settings.filterDebounceMs, () => {
        debounce = undefined
        fleet.setStations(new Set(options.stations()))
      })
    },
    send: (line) => fleet.send(line),
    verified: () => fleet.verified(),
    ready: () => fleet.ready(),
    problems: () => (fleet.outOfCalls ? ['upstream_no_call'] : []),
    status() {
      const connections = fleet.connections()
      return {
        ready: fleet.ready(),
        connected: connections.some(({ server }) => server !== null),
        verified: connections.some(({ verified }) => verified),
        paused: lines.full,
        leftOut: fleet.leftOut,
        connections,
      }
    },
    onStatus(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    close() {
      closing = true
      debounce?.cancel()
      return fleet.close()
    },
  }
}
