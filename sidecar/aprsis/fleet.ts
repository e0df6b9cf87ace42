import type { Clock, Timer } from '../clock.ts'
import type { AprsisSettings } from '../config/settings.ts'
import type { Log } from '../log.ts'
import type { StationKey } from '../messages/store.ts'
import type { Metrics } from '../metrics.ts'
import type { Connect } from './connection/connect-tcp.ts'
import { type Connection, type ConnectionStatus, openConnection } from './connection/connection.ts'
import { isSameSet, planConnections } from './filters/plan.ts'
import { watchHeard } from './filters/readiness.ts'
import { nextSteps, type Step } from './filters/rollout.ts'
import { SilentServers } from './filters/silent-servers.ts'
import type { CallsignSource } from './listeners/callsign-source.ts'
import { loginCallsignCount } from './listeners/login-callsigns.ts'
import { filterText } from './protocol/filter.ts'

/** How long a new filter is up before an old one goes: two servers of the network are seldom further apart. */
const OVERLAP_MS = 5000

/**
 * When filters are made tight again after a change that was made the cheap way. A spare connection costs 3 bytes a
 * second in server chatter, so this costs about 2 KB; making it tight costs a login line of up to 8 KB.
 */
const TIDY_AFTER_MS = 600_000

/**
 * Least time between two logins that make filters certain at servers that answer no `#filter`. Each costs a login line
 * of up to 8 KB.
 */
const RENEW_INTERVAL_MS = 60_000

export interface FleetOptions {
  readonly connect?: Connect | undefined
  readonly settings: AprsisSettings
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  readonly calls: CallsignSource
  /** How many instances share the calls. */
  readonly sharers: number
  random(): number
  /** Whether a login to another server would be better than one to this. */
  avoids(server: string): boolean
  onLines(lines: readonly string[]): void
  onChange(): void
}

export type FleetConnection = ConnectionStatus & { readonly stations: number }

/** All connections to APRS-IS together: as many as the stations' filters need, changed without a gap. */
export interface Fleet {
  /** Whose messages to ask for. The same set again does nothing. */
  setStations(stations: ReadonlySet<StationKey>): void
  /**
   * Sends a packet line by the connection that carries its source, else by any that is verified; false when none is.
   */
  send(line: string): boolean
  /** Whether a connection is verified. */
  verified(): boolean
  /** Calls of connections that are not closed yet. */
  callsInUse(): ReadonlySet<string>
  /** Calls of the servers that there is a login to. */
  servers(): ReadonlySet<string>
  /** {@link CallsignSource.take} may have another answer. */
  retry(): void
  /** Ends the connections with these calls at once, and opens others in their place. */
  dropCalls(calls: ReadonlySet<string>): void
  /** Lets connections to these servers try others. */
  moveFrom(servers: ReadonlySet<string>): void
  pause(): void
  resume(): void
  /** Every station for which there is room is in a filter that a server confirmed. */
  ready(): boolean
  /** Stations for which there is no room. */
  readonly leftOut: number
  /** A connection that is needed cannot be opened: no call is left to log in with. */
  readonly outOfCalls: boolean
  connections(): readonly FleetConnection[]
  close(): Promise<void>
}

interface FleetMember {
  readonly id: number
  readonly connection: Connection
  stations: ReadonlySet<StationKey>
  next: ReadonlySet<StationKey> | undefined
  retiring: boolean
  /** Its filter was never confirmed: a new login has to replace it. */
  mustRenew: boolean
  settled: boolean
  settling: Timer | undefined
}

export function createFleet(options: FleetOptions): Fleet {
  const { settings, clock, log, calls, sharers } = options
  const callCount = loginCallsignCount(settings.callsign)
  // Each has its part, even if it comes last.
  const places = Math.min(settings.maxConnections, Math.max(1, Math.floor(callCount / sharers)))
  // One place stays free for a connection that takes over from another. With a single place the successor logs in
  // with the same call, and the server drops the older connection at that moment.
  const limits = { trackOutgoing: settings.trackOutgoing, maxConnections: Math.max(1, places - 1) }
  const maxOpen = Math.max(2, places)

  let wanted: ReadonlySet<StationKey> | undefined
  let leftOut: readonly StationKey[] = []
  let queue: readonly ReadonlySet<StationKey>[] = []
  // Newest last.
  const members = new Map<number, FleetMember>()
  const leaving = new Set<FleetMember>()
  let lastId = 0
  let paused = false
  let closing = false
  let outOfCalls = false
  let stepPlanned = false
  let tidying: Timer | undefined
  let renewing: Timer | undefined
  let renewedAt = Number.NEGATIVE_INFINITY
  const silentServers = new SilentServers()

  const everyMember = () => [...members.values(), ...leaving]
  const stateOf = (member: FleetMember) => member.connection.status().state
  const isHeard = watchHeard()
  const isUp = (member: FleetMember) => ['up', 'confirming', 'unconfirmed'].includes(stateOf(member))

  function plan(stations: ReadonlySet<StationKey>, compact: boolean): void {
    const carriers = [...members.values()].reverse().map((member) => ({
      id: member.id,
      stations: member.stations,
      mustGo: member.mustRenew || belongsToStation(member.connection.call, stations),
    }))
    const planned = planConnections(stations, carriers, limits, compact)
    for (const member of members.values()) {
      member.next = planned.change.get(member.id)
      member.retiring = planned.retire.has(member.id)
    }
    queue = planned.open
    if (queue.length === 0) outOfCalls = false
    log.info('upstream-filter', 'The filters for APRS-IS change.', {
      stations: stations.size,
      opening: queue.length,
      changing: planned.change.size,
      closing: planned.retire.size,
    })
    if (planned.tight) cancelTidying()
    else tidying ??= clock.after(TIDY_AFTER_MS, tidy)
    tellLeftOut(planned.leftOut)
    planStep()
  }

  function belongsToStation(call: string, stations: ReadonlySet<StationKey>): boolean {
    return call !== settings.callsign && stations.has(call)
  }

  function tidy(): void {
    tidying = undefined
    if (wanted) plan(wanted, true)
  }

  function cancelTidying(): void {
    tidying?.cancel()
    tidying = undefined
  }

  function onFilterAnswer(server: string, outcome: 'confirmed' | 'unanswered'): void {
    if (outcome === 'confirmed') {
      silentServers.delete(server)
      return
    }
    if (silentServers.add(server)) {
      log.warn(
        'upstream-filter-unconfirmed',
        'The APRS-IS server answered neither of two filter changes. They count as set, and the connection logs in again after each.',
        { server },
      )
    }
    const waitMs = Math.max(0, renewedAt + RENEW_INTERVAL_MS - clock.elapsed())
    renewing ??= clock.after(waitMs, renewUnconfirmed)
  }

  /**
   * A server that reads filters only at login has the old one: the login line of a new connection brings it the new
   * one.
   */
  function renewUnconfirmed(): void {
    renewing = undefined
    if (closing || !wanted) return
    renewedAt = clock.elapsed()
    for (const member of members.values()) if (stateOf(member) === 'unconfirmed') member.mustRenew = true
    plan(wanted, false)
  }

  function tellLeftOut(stations: readonly StationKey[]): void {
    if (stations.length > leftOut.length) {
      log.error('upstream-full', `There is no room for every station in the filters: ${remedyOfFull()}`, {
        leftOut: stations.length,
        maxConnections: settings.maxConnections,
      })
    }
    leftOut = stations
  }

  function remedyOfFull(): string {
    if (callCount === 1)
      return 'further connections need an SSID of two digits, for which aprsis.callsign is too long: log in with a shorter one.'
    if (places >= settings.maxConnections) return 'raise aprsis.maxConnections.'
    return sharers > 1
      ? `${sharers} listeners share the ${callCount} calls of aprsis.callsign: give some of the stations a sidecar with a callsign and a database of its own.`
      : `aprsis.callsign has ${callCount} calls: give some of the stations a sidecar with a callsign and a database of its own.`
  }

  function tellOutOfCalls(now: boolean): void {
    if (now && !outOfCalls) {
      log.error(
        'upstream-no-call',
        'No call is left to log in with for a further connection, so some stations get no messages: set aprsis.callsign to another call.',
        { callsign: settings.callsign, connections: members.size },
      )
    }
    outOfCalls = now
  }

  /** Once per turn of the event loop, whatever happens in it. */
  function planStep(): void {
    if (stepPlanned) return
    stepPlanned = true
    process.nextTick(() => {
      stepPlanned = false
      if (!closing) step()
    })
  }

  function step(): void {
    const steps = nextSteps({
      members: [...members.values()].map((member) => ({ ...member, up: isUp(member) })),
      waiting: queue.length,
      leaving: leaving.size,
      wanted: wanted ?? new Set(),
      maxConnections: maxOpen,
    })
    // All, not some: each one that is possible is done.
    if (steps.filter(apply).length > 0) planStep()
    options.onChange()
  }

  /** False when nothing could be done. */
  function apply(step: Step): boolean {
    if (step.kind === 'open') return open()
    const member = members.get(step.id)
    if (!member) return false
    if (step.kind === 'change') {
      setFilter(member, step.stations)
      return true
    }
    if (step.kind === 'sacrifice') {
      log.warn('upstream-gap', 'A filter change leaves stations unheard for a moment: raise aprsis.maxConnections.', {
        stations: step.stations,
      })
    }
    members.delete(member.id)
    leaving.add(member)
    unsettle(member)
    member.connection.leave()
    if (stateOf(member) === 'closed') leaving.delete(member)
    return true
  }

  function setFilter(member: FleetMember, stations: ReadonlySet<StationKey>): void {
    member.stations = stations
    member.next = undefined
    unsettle(member)
    member.connection.setFilter(filterText(stations, member.connection.call, settings))
    onConnectionChange(member)
  }

  function open(): boolean {
    const [stations, ...rest] = queue
    if (!stations) return false
    const call = calls.take(places === 1 ? new Set() : callsInUse(), wanted ?? new Set())
    tellOutOfCalls(call === undefined && calls.exhausted)
    if (call === undefined) return false
    queue = rest
    lastId += 1
    const connection = openConnection({
      ...options,
      host: settings.host,
      port: settings.port,
      passcode: settings.passcode,
      call,
      filter: filterText(stations, call, settings),
      mayLogIn: () => calls.mayLogIn(call),
      isSilent: (server) => silentServers.has(server),
      onFilterAnswer,
      hasSuccessor: () =>
        [...members.values()].some(({ id, connection }) => id > member.id && connection.call === call),
      onChange: () => onConnectionChange(member),
    })
    const member: FleetMember = {
      id: lastId,
      connection,
      stations,
      next: undefined,
      retiring: false,
      mustRenew: false,
      settled: false,
      settling: undefined,
    }
    members.set(member.id, member)
    if (paused) connection.pause()
    return true
  }

  function callsInUse(): ReadonlySet<string> {
    return new Set(everyMember().map(({ connection }) => connection.call))
  }

  function unsettle(member: FleetMember): void {
    member.settled = false
    member.settling?.cancel()
    member.settling = undefined
  }

  function onConnectionChange(member: FleetMember): void {
    const state = stateOf(member)
    if (state === 'closed') leaving.delete(member)
    // A login that it made by itself brought the newest filter.
    if (state === 'up') member.mustRenew = false
    if (state !== 'up' || !members.has(member.id)) unsettle(member)
    else if (!member.settling) {
      member.settling = clock.after(OVERLAP_MS, () => {
        member.settled = true
        planStep()
      })
    }
    planStep()
  }

  return {
    setStations(stations) {
      if (closing || (wanted && isSameSet(wanted, stations))) return
      wanted = stations
      plan(stations, false)
    },
    send(line) {
      const source = line.slice(0, Math.max(0, line.indexOf('>'))).toUpperCase()
      const all = [...members.values()]
      // Sending as a station makes the server send its messages here: where they come anyway, that costs nothing.
      const own = all.filter(({ stations }) => stations.has(source))
      return [...own, ...all].some(({ connection }) => connection.send(line))
    },
    verified() {
      for (const { connection } of members.values()) if (connection.verified) return true
      return false
    },
    callsInUse,
    servers: () => new Set(everyMember().flatMap(({ connection }) => connection.server ?? [])),
    retry: planStep,
    dropCalls(lost) {
      const dropped = everyMember().filter(({ connection }) => lost.has(connection.call))
      for (const member of dropped) {
        members.delete(member.id)
        leaving.add(member)
        unsettle(member)
        void member.connection.close()
        if (stateOf(member) === 'closed') leaving.delete(member)
      }
      if (dropped.length > 0 && wanted && !closing) plan(wanted, false)
    },
    moveFrom(servers) {
      for (const { connection } of members.values()) connection.moveFrom(servers)
    },
    pause() {
      paused = true
      for (const { connection } of everyMember()) connection.pause()
    },
    resume() {
      paused = false
      for (const { connection } of everyMember()) connection.resume()
    },
    ready() {
      const up = [...members.values()].filter((member) => ['up', 'unconfirmed'].includes(stateOf(member)))
      return (
        wanted !== undefined &&
        isHeard(
          wanted,
          leftOut,
          up.map(({ stations }) => stations),
        )
      )
    },
    get leftOut() {
      return leftOut.length
    },
    get outOfCalls() {
      return outOfCalls || (leftOut.length > 0 && places < settings.maxConnections)
    },
    connections: () =>
      everyMember().map(({ connection, stations }) => ({ ...connection.status(), stations: stations.size })),
    async close() {
      closing = true
      cancelTidying()
      renewing?.cancel()
      await Promise.all(everyMember().map(({ connection }) => connection.close()))
    },
  }
}
