import type { Clock, Timer } from '../clock.ts'
import type { AprsisSettings } from '../config/settings.ts'
import type { Log } from '../log.ts'
import type { StationKey } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'
import { type Connect, connectTcp } from './connection/connect-tcp.ts'
import { LineIntake } from './connection/line-intake.ts'
import { Fleet, type FleetConnection } from './fleet.ts'
import { type CallsignSource, ownCallsigns } from './listeners/callsign-source.ts'
import { Election, type ElectionStore } from './listeners/election.ts'
import type { Listener } from './listeners/listeners.ts'
import { loginCallsignCount } from './listeners/login-callsigns.ts'

/** The settings and dependencies of the link. */
export interface LinkParts {
  readonly settings: AprsisSettings
  /**
   * Returns the names for the filter: registered stations, and `CALL*` for all SSIDs of a callsign. Called at the start
   * and after each {@link Link.refilter}.
   */
  readonly stations: () => Iterable<StationKey>
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Opens connections. Default: over TCP. */
  readonly connect?: Connect | undefined
  /** Returns a random number from 0 to below 1, which spreads reconnects. Default: `Math.random`. */
  readonly random?: () => number
  /**
   * The leases and instances of a shared store. Several processes use them to elect those that listen. Undefined if no
   * other process uses the store.
   */
  readonly shared?: ElectionStore | undefined
}

/** The state of the link to APRS-IS, for readiness and the status page. */
export interface LinkStatus {
  /** Whether the filters set at the servers contain all stations, except those for which no filter has room. */
  readonly ready: boolean
  /** Whether this instance is logged in to at least one server. */
  readonly connected: boolean
  /** Whether at least one login is verified, so that acks can be sent. */
  readonly verified: boolean
  /** Whether reading from the connections is paused, because too many received lines are still being processed. */
  readonly paused: boolean
  /** Number of stations for which no filter has room. */
  readonly leftOut: number
  /** The connections, oldest first. While filters change, there are more of them for some seconds. */
  readonly connections: readonly FleetConnection[]
  /** This instance's slot among the listeners, from 0; null while it does not listen. */
  readonly listener: number | null
  /** Number of instances that listen, including this one, and number of instances that should listen. */
  readonly listeners: { readonly held: number; readonly wanted: number }
  /** The other listening instances as of the last round of the election, sorted by slot. */
  readonly others: readonly Listener[]
}

/** Warns that acks cannot be sent if the configuration has no passcode. */
export function warnOfReceiving({ passcode }: Pick<AprsisSettings, 'passcode'>, log: Pick<Log, 'warn'>): void {
  if (passcode === -1)
    log.warn(
      'upstream-receive-only',
      'aprsis.passcode is -1: messages are received, but acks cannot be sent. Set it to the passcode of aprsis.callsign to send acks.',
    )
}

/**
 * The sidecar's link to APRS-IS. It requests only messages to the registered stations.
 *
 * - While this instance listens, it has a {@link Fleet}. When it stops, the fleet is *ending* until its connections are
 *   closed. Until then, their callsigns are in use.
 * - With a shared store, an {@link Election} decides whether this instance listens. Otherwise `aprsis.listen` decides.
 * - {@link close} is final: the link drops further lines, ends all connections, and releases its leases.
 */
export class Link {
  readonly #parts: LinkParts
  #lines: LineIntake | undefined
  readonly #listeners = new Set<() => void>()
  readonly #ending = new Set<Fleet>()
  /**
   * Number of instances that should listen. It is at most the number of login callsigns, because each listener needs
   * its own.
   */
  readonly #slots: number
  #fleet: Fleet | undefined
  #election: Election | undefined
  #debounce: Timer | undefined
  #closing = false

  constructor(parts: LinkParts) {
    const { settings, shared } = parts
    this.#parts = parts
    this.#slots = shared ? Math.min(settings.listeners, loginCallsignCount(settings.callsign)) : 1
  }

  /**
   * Connects to APRS-IS, and reconnects after faults, until {@link close}. Call once.
   *
   * @param receive gets the packet lines of one read, in order, as Latin-1 without line ends; settles once they are
   *   processed. While more than 5,000 lines are unsettled, no socket is read.
   */
  open(receive: (lines: readonly string[]) => Promise<void>): void {
    if (this.#closing) return
    const { settings, clock, log, shared } = this.#parts
    const lines = new LineIntake({ receive, clock, log, onFull: (full) => this.#onFull(full) })
    this.#lines = lines
    if (settings.listen) warnOfReceiving(settings, log)
    if (shared) this.#joinElection(shared, lines)
    else if (settings.listen) this.#listen(ownCallsigns(settings.callsign), lines)
  }

  /**
   * Updates the filters after `aprsis.filterDebounceMs`. Call when the set of stations may have changed. One update
   * covers all changes up to then.
   */
  refilter(): void {
    // The delay starts at the first change of the stations, so that a steady stream of changes cannot postpone the
    // filter update forever.
    if (this.#closing || this.#debounce) return
    const { clock, settings } = this.#parts
    this.#debounce = clock.after(settings.filterDebounceMs, () => {
      this.#debounce = undefined
      this.#setStations()
    })
  }

  /**
   * Sends a packet line, given without its line end. Returns false if no connection is verified, or if the line is not
   * a packet or exceeds 509 bytes.
   */
  send(line: string): boolean {
    return this.#fleet?.send(line) ?? false
  }

  /** Whether at least one connection is verified now. */
  verified(): boolean {
    return this.#fleet?.verified() ?? false
  }

  ready(): boolean {
    return this.#fleet?.ready() ?? false
  }

  /** Returns the problems that leave stations without messages, and that only a change of the configuration solves. */
  problems(): readonly 'upstream_no_call'[] {
    return this.#fleet?.outOfCallsigns ? ['upstream_no_call'] : []
  }

  /** Wall-clock time of the last packet line, in milliseconds since 1970; undefined before the first line. */
  get lastPacketAt(): number | undefined {
    return this.#lines?.lastPacketAt
  }

  status(): LinkStatus {
    const fleet = this.#fleet
    const connections = fleet?.connections() ?? []
    const otherListeners = this.#election?.others ?? []
    return {
      // A getter, because most callers do not need this value. To compute it, the fleet iterates over all connections,
      // and after a change over all stations.
      get ready() {
        return fleet?.ready() ?? false
      },
      connected: connections.some(({ server }) => server !== null),
      verified: connections.some(({ verified }) => verified),
      paused: this.#lines?.full ?? false,
      leftOut: fleet?.leftOut ?? 0,
      connections,
      listener: fleet ? (this.#election?.slot ?? 0) : null,
      listeners: { held: otherListeners.length + (fleet ? 1 : 0), wanted: this.#election?.wanted ?? this.#slots },
      others: otherListeners,
    }
  }

  /** Calls `listener` after each change of {@link status}. Returns a function that removes the listener. */
  onStatus(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /**
   * Ends all connections, then releases the leases of this instance. Resolves once all received lines are settled.
   * Close the store only after that. Idempotent.
   */
  async close(): Promise<void> {
    this.#closing = true
    this.#lines?.close()
    this.#debounce?.cancel()
    this.#election?.stop()
    await Promise.all([this.#fleet, ...this.#ending].map((fleet) => fleet?.close()))
    await Promise.all([this.#election?.release(), this.#lines?.settled()])
  }

  #joinElection({ leases, instances }: ElectionStore, lines: LineIntake): void {
    const { settings, clock, log } = this.#parts
    this.#election = new Election({
      leases,
      instances,
      settings,
      slots: this.#slots,
      clock,
      log,
      callsignsInUse: () => this.#callsignsInUse(),
      servers: () => this.#fleet?.servers() ?? new Set(),
      onElected: (callsigns) => this.#listen(callsigns, lines),
      onDeposed: () => void this.#stopListening(),
      onCallsigns: () => this.#fleet?.retry(),
      onCallsignsLost: (lost) => this.#fleet?.dropCallsigns(lost),
      onRound: () => {
        this.#keepApart()
        this.#notify()
      },
    })
    this.#election.start()
  }

  #listen(callsigns: CallsignSource, lines: LineIntake): void {
    const { connect = connectTcp, settings, clock, log, metrics, random = Math.random } = this.#parts
    this.#fleet = new Fleet({
      connect,
      settings,
      clock,
      log,
      metrics,
      lines,
      callsigns,
      sharers: this.#slots,
      random,
      avoids: (server) => this.#election?.others.some(({ servers }) => servers.includes(server)) ?? false,
      onChange: () => this.#notify(),
    })
    if (lines.full) this.#fleet.pause()
    this.#setStations()
  }

  async #stopListening(): Promise<void> {
    const fleet = this.#fleet
    if (!fleet) return
    this.#fleet = undefined
    this.#ending.add(fleet)
    this.#notify()
    await fleet.close()
    this.#ending.delete(fleet)
  }

  #setStations(): void {
    this.#fleet?.setStations(new Set(this.#parts.stations()))
  }

  #callsignsInUse(): ReadonlySet<string> {
    const fleets = this.#fleet ? [this.#fleet, ...this.#ending] : [...this.#ending]
    return new Set(fleets.flatMap((fleet) => [...fleet.callsignsInUse()]))
  }

  /** Leaves a server that a listener with a lower slot uses too, so that no failing server disconnects both. */
  #keepApart(): void {
    const earlier = this.#election?.others.filter(({ slot }) => slot < (this.#election?.slot ?? 0)) ?? []
    if (earlier.length > 0) this.#fleet?.moveFrom(new Set(earlier.flatMap(({ servers }) => servers)))
  }

  #onFull(full: boolean): void {
    if (full) this.#fleet?.pause()
    else this.#fleet?.resume()
    this.#notify()
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}
