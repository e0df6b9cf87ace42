import type { Clock, Timer } from '../clock.ts'
import type { AprsisSettings } from '../config/settings.ts'
import type { Log } from '../log.ts'
import type { StationKey } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'
import type { Connect } from './connection/connect-tcp.ts'
import { Connection, type ConnectionStatus } from './connection/connection.ts'
import type { LineIntake } from './connection/line-intake.ts'
import { isSameSet, planConnections } from './filters/plan.ts'
import { watchHeard } from './filters/readiness.ts'
import { nextSteps, type Step } from './filters/rollout.ts'
import { UnconfirmedFilters } from './filters/unconfirmed-filters.ts'
import { type FleetLimits, fleetLimits } from './fleet-limits.ts'
import { FleetMember } from './fleet-member.ts'
import type { CallsignSource } from './listeners/callsign-source.ts'
import { filterText } from './protocol/filter.ts'

/**
 * Delay before the fleet merges connections. Meanwhile, a spare connection costs about 2 KB of the server's comments. A
 * merge costs a login line of up to 8 KB.
 */
const TIDY_AFTER_MS = 600_000

/** The settings, dependencies and callbacks that the link to APRS-IS passes to a fleet. */
export interface FleetParts {
  readonly connect: Connect
  readonly settings: AprsisSettings
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly lines: Pick<LineIntake, 'take'>
  readonly callsigns: CallsignSource
  /** Number of instances that divide the login callsigns among them. */
  readonly sharers: number
  /** Returns a random number from 0 to below 1. */
  readonly random: () => number
  /** Whether a connection should try to log in to another server, because another listener uses this one. */
  readonly avoids: (server: string) => boolean
  readonly onChange: () => void
}

export type FleetConnection = ConnectionStatus & { readonly stations: number }

/**
 * All connections of this instance to APRS-IS: as many as the stations' filters need. No message is lost while filters
 * change.
 *
 * - A *plan* lists the connections that should exist, and their filters. A new plan is made when the stations change,
 *   connections can be merged, a filter must be renewed, or callsigns are lost.
 * - *Steps* carry out the plan: they open, change and retire connections, at most once per turn of the event loop. A
 *   registered station is removed from a filter only if a settled member has it too.
 * - A connection is a *member* until it is retired, and then *leaving* until it is closed.
 * - If no callsign is left for a new connection, the plan waits until {@link retry}.
 */
export class Fleet {
  readonly #parts: FleetParts
  readonly #limits: FleetLimits
  readonly #unconfirmed: UnconfirmedFilters
  readonly #isHeard = watchHeard()
  /** The connections by id, newest last, except the retired ones. */
  readonly #members = new Map<number, FleetMember>()
  readonly #leaving = new Set<FleetMember>()
  #wanted: ReadonlySet<StationKey> | undefined
  #leftOut: readonly StationKey[] = []
  /** The connections that are planned but not opened yet. Each is represented by its set of stations. */
  #toOpen: readonly ReadonlySet<StationKey>[] = []
  #tidying: Timer | undefined
  #lastId = 0
  #paused = false
  #closing = false
  #lacksCallsign = false
  #isStepPlanned = false

  constructor(parts: FleetParts) {
    const { settings, sharers, clock, log } = parts
    this.#parts = parts
    this.#limits = fleetLimits(settings, sharers)
    this.#unconfirmed = new UnconfirmedFilters({ clock, log, onRenew: () => this.#renewUnconfirmed() })
  }

  /** Number of stations for which no filter has room. */
  get leftOut(): number {
    return this.#leftOut.length
  }

  /** Whether the fleet lacks a connection because no callsign is left for its login. */
  get outOfCallsigns(): boolean {
    return this.#lacksCallsign || (this.#leftOut.length > 0 && this.#limits.isLimitedByCallsigns)
  }

  /** Sets the stations to request messages for. Idempotent. */
  setStations(stations: ReadonlySet<StationKey>): void {
    if (this.#closing || (this.#wanted && isSameSet(this.#wanted, stations))) return
    this.#wanted = stations
    this.#plan(stations, false)
  }

  /**
   * Sends a packet line over a verified connection, if possible with its source in the filter. Returns false if none is
   * verified.
   */
  send(line: string): boolean {
    const source = line.slice(0, Math.max(0, line.indexOf('>'))).toUpperCase()
    const all = [...this.#members.values()]
    // Messages to a station come over the connection that sent its last packet. So that connection's filter should have
    // the station.
    const carriers = all.filter(({ stations }) => stations.has(source))
    return [...carriers, ...all].some(({ connection }) => connection.send(line))
  }

  /** Whether at least one connection is verified, so that acks can be sent. */
  verified(): boolean {
    for (const { connection } of this.#members.values()) if (connection.verified) return true
    return false
  }

  /** Returns the callsigns of all connections that are not closed yet. */
  callsignsInUse(): ReadonlySet<string> {
    return new Set(this.#all().map(({ connection }) => connection.callsign))
  }

  /** Returns the servers at which the fleet is logged in. */
  servers(): ReadonlySet<string> {
    return new Set(this.#all().flatMap(({ connection }) => connection.server ?? []))
  }

  /** Tries again to open connections. Call when {@link CallsignSource.take} may return a callsign again. */
  retry(): void {
    this.#planStep()
  }

  /** Closes the connections with these callsigns at once, and plans new connections for their stations. */
  dropCallsigns(lost: ReadonlySet<string>): void {
    const dropped = this.#all().filter(({ connection }) => lost.has(connection.callsign))
    for (const member of dropped) this.#retire(member, (connection) => void connection.close())
    if (dropped.length > 0 && this.#wanted && !this.#closing) this.#plan(this.#wanted, false)
  }

  /** Makes the connections to these servers log in again, so that they reach other servers. */
  moveFrom(servers: ReadonlySet<string>): void {
    for (const { connection } of this.#members.values()) connection.moveFrom(servers)
  }

  pause(): void {
    this.#paused = true
    for (const { connection } of this.#all()) connection.pause()
  }

  resume(): void {
    this.#paused = false
    for (const { connection } of this.#all()) connection.resume()
  }

  /** Whether the filters set at the servers contain all stations, except those for which no filter has room. */
  ready(): boolean {
    if (!this.#wanted) return false
    const filters = [...this.#members.values()].filter(({ isFilterSet }) => isFilterSet).map(({ stations }) => stations)
    return this.#isHeard(this.#wanted, this.#leftOut, filters)
  }

  connections(): readonly FleetConnection[] {
    return this.#all().map(({ connection, stations }) => ({ ...connection.status(), stations: stations.size }))
  }

  async close(): Promise<void> {
    this.#closing = true
    this.#cancelTidying()
    this.#unconfirmed.close()
    await Promise.all(this.#all().map(({ connection }) => connection.close()))
  }

  #all(): readonly FleetMember[] {
    return [...this.#members.values(), ...this.#leaving]
  }

  #plan(stations: ReadonlySet<StationKey>, compact: boolean): void {
    const carriers = [...this.#members.values()].reverse().map(({ id, stations: carried, mustRenew, connection }) => ({
      id,
      stations: carried,
      mustGo: mustRenew || this.#belongsToStation(connection.callsign, stations),
    }))
    const plan = planConnections(stations, carriers, this.#limits.plan, compact)
    for (const member of this.#members.values()) {
      member.next = plan.change.get(member.id)
      member.retiring = plan.retire.has(member.id)
    }
    this.#toOpen = plan.open
    if (plan.open.length === 0) this.#lacksCallsign = false
    this.#parts.log.info('upstream-filter', 'The filters for APRS-IS change.', {
      stations: stations.size,
      opening: plan.open.length,
      changing: plan.change.size,
      closing: plan.retire.size,
    })
    if (plan.tight) this.#cancelTidying()
    else this.#tidying ??= this.#parts.clock.after(TIDY_AFTER_MS, () => this.#tidy())
    this.#setLeftOut(plan.leftOut)
    this.#planStep()
  }

  #belongsToStation(callsign: string, stations: ReadonlySet<StationKey>): boolean {
    return callsign !== this.#parts.settings.callsign && stations.has(callsign)
  }

  #tidy(): void {
    this.#tidying = undefined
    if (this.#wanted) this.#plan(this.#wanted, true)
  }

  #cancelTidying(): void {
    this.#tidying?.cancel()
    this.#tidying = undefined
  }

  /**
   * Replaces each connection that is `unconfirmed`. The login line of the new connection contains the newest filter.
   */
  #renewUnconfirmed(): void {
    if (this.#closing || !this.#wanted) return
    for (const member of this.#members.values()) if (member.state === 'unconfirmed') member.mustRenew = true
    this.#plan(this.#wanted, false)
  }

  #setLeftOut(stations: readonly StationKey[]): void {
    if (stations.length > this.#leftOut.length) {
      this.#parts.log.error(
        'upstream-full',
        `The filters have room for only some of the stations, so the others get no messages. ${this.#limits.remedy}`,
        { leftOut: stations.length, maxConnections: this.#parts.settings.maxConnections },
      )
    }
    this.#leftOut = stations
  }

  #setLacksCallsign(lacksCallsign: boolean): void {
    const { log, settings } = this.#parts
    if (lacksCallsign && !this.#lacksCallsign) {
      log.error(
        'upstream-no-call',
        'No callsign is left for a further connection, so some stations get no messages. Set aprsis.callsign to a callsign that no station has registered.',
        { callsign: settings.callsign, connections: this.#members.size },
      )
    }
    this.#lacksCallsign = lacksCallsign
  }

  /** Schedules {@link #step} for the end of this turn of the event loop. Several calls in one turn schedule it once. */
  #planStep(): void {
    if (this.#isStepPlanned) return
    this.#isStepPlanned = true
    process.nextTick(() => {
      this.#isStepPlanned = false
      if (!this.#closing) this.#step()
    })
  }

  #step(): void {
    const steps = nextSteps({
      members: [...this.#members.values()],
      waiting: this.#toOpen.length,
      leaving: this.#leaving.size,
      wanted: this.#wanted ?? new Set(),
      maxConnections: this.#limits.maxOpen,
    })
    // `some` would stop at the first step that succeeds, but all steps must be carried out.
    if (steps.filter((step) => this.#apply(step)).length > 0) this.#planStep()
    this.#parts.onChange()
  }

  /** Opens, changes or closes the connection that a {@link Step} names. Returns false if that is not possible now. */
  #apply(step: Step): boolean {
    if (step.kind === 'open') return this.#open()
    const member = this.#members.get(step.id)
    if (!member) return false
    if (step.kind === 'change') {
      this.#setFilter(member, step.stations)
      return true
    }
    if (step.kind === 'sacrifice') {
      this.#parts.log.warn(
        'upstream-gap',
        'During a filter change, messages to some stations may be missed for a moment. Raise aprsis.maxConnections.',
        { stations: step.stations },
      )
    }
    this.#retire(member, (connection) => connection.leave())
    return true
  }

  #retire(member: FleetMember, end: (connection: Connection) => void): void {
    this.#members.delete(member.id)
    this.#leaving.add(member)
    member.unsettle()
    end(member.connection)
    if (member.state === 'closed') this.#leaving.delete(member)
  }

  #setFilter(member: FleetMember, stations: ReadonlySet<StationKey>): void {
    member.stations = stations
    member.next = undefined
    member.unsettle()
    member.connection.setFilter(filterText(stations, member.connection.callsign, this.#parts.settings))
    this.#onConnectionChange(member)
  }

  #open(): boolean {
    const { callsigns, clock } = this.#parts
    const [stations, ...rest] = this.#toOpen
    if (!stations) return false
    const inUse = this.#limits.places === 1 ? new Set<string>() : this.callsignsInUse()
    const callsign = callsigns.take(inUse, this.#wanted ?? new Set())
    this.#setLacksCallsign(callsign === undefined && callsigns.exhausted)
    if (callsign === undefined) return false
    this.#toOpen = rest
    this.#lastId += 1
    const id = this.#lastId
    const connection = this.#connectionFor(id, callsign, stations, () => this.#onConnectionChange(member))
    const member = new FleetMember(id, connection, stations, clock)
    this.#members.set(id, member)
    connection.open()
    if (this.#paused) connection.pause()
    return true
  }

  #connectionFor(id: number, callsign: string, stations: ReadonlySet<StationKey>, onChange: () => void): Connection {
    const { connect, settings, clock, log, metrics, lines, callsigns, random, avoids } = this.#parts
    const { host, port, passcode } = settings
    return new Connection({
      connect,
      host,
      port,
      callsign,
      passcode,
      filter: filterText(stations, callsign, settings),
      clock,
      log,
      metrics,
      lines,
      random,
      mayLogIn: () => callsigns.mayLogIn(callsign),
      avoids,
      isSilent: (server) => this.#unconfirmed.isSilent(server),
      onFilterAnswer: (server, outcome) => this.#unconfirmed.onAnswer(server, outcome),
      hasSuccessor: () =>
        [...this.#members.values()].some((member) => member.id > id && member.connection.callsign === callsign),
      onChange,
    })
  }

  #onConnectionChange(member: FleetMember): void {
    const { state } = member
    if (state === 'closed') this.#leaving.delete(member)
    // In the state `up`, the server has the connection's newest filter, so the connection need not be replaced.
    if (state === 'up') member.mustRenew = false
    if (state !== 'up' || !this.#members.has(member.id)) member.unsettle()
    else member.settle(() => this.#planStep())
    this.#planStep()
  }
}
