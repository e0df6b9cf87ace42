import type { StationKey } from '../../messages/store.ts'

/** A connection to APRS-IS, with the data that {@link nextSteps} needs. */
export interface Member {
  readonly id: number
  /**
   * The stations in the connection's filter at the server. Before the server has accepted the login: the stations in
   * the login line's filter.
   */
  readonly stations: ReadonlySet<StationKey>
  /**
   * The stations that the plan wants in the connection's filter; undefined if the filter stays unchanged or the plan
   * closes the connection.
   */
  readonly next: ReadonlySet<StationKey> | undefined
  /** Whether the plan closes the connection. */
  readonly retiring: boolean
  /** Whether the connection is logged in, so that messages may arrive on it. */
  readonly up: boolean
  /**
   * Whether the connection's filter has been confirmed for some seconds. Only then may other connections drop the
   * stations in this filter.
   */
  readonly settled: boolean
}

export type Step =
  | { readonly kind: 'close'; readonly id: number }
  | { readonly kind: 'change'; readonly id: number; readonly stations: ReadonlySet<StationKey> }
  /** Opens the first of the connections that the plan has yet to open. */
  | { readonly kind: 'open' }
  /** Closes the only connection of some stations (`stations`: how many). Messages may be lost until a new one is up. */
  | { readonly kind: 'sacrifice'; readonly id: number; readonly stations: number }

/** The existing and planned connections, from which {@link nextSteps} computes the next steps. */
export interface Rollout {
  readonly members: readonly Member[]
  /** Number of connections that the plan has yet to open. */
  readonly waiting: number
  /** Number of retired connections that still read their last lines. `maxConnections` includes them. */
  readonly leaving: number
  /** The registered stations. */
  readonly wanted: ReadonlySet<StationKey>
  /** Maximum number of connections at a time. */
  readonly maxConnections: number
}

/**
 * Returns steps that lose no message, or a `sacrifice` if the rollout is stuck without such steps. A connection drops a
 * registered station only if another settled connection has the station. The plan may be replaced at any time.
 */
export function nextSteps({ members, waiting, leaving, wanted, maxConnections }: Rollout): readonly Step[] {
  const steps: Step[] = []
  const cover = coverOf(members, wanted)
  for (const member of members) {
    if (!member.retiring) continue
    if (member.up && cover.losses(member, member.stations) > 0) continue
    cover.drop(member)
    steps.push({ kind: 'close', id: member.id })
  }

  for (const member of members) {
    const { next } = member
    if (!next) continue
    const dropped = [...member.stations].filter((station) => !next.has(station))
    if (member.up && cover.losses(member, dropped) > 0) continue
    // Until the server confirms the new filter, no other connection may drop a station of this filter.
    cover.drop(member)
    steps.push({ kind: 'change', id: member.id, stations: next })
  }

  // A connection that closes now stays open while it reads its last lines, so its place is not free yet.
  const free = maxConnections - members.length - leaving
  for (let count = 0; count < Math.min(free, waiting); count++) steps.push({ kind: 'open' })

  const stuck = steps.length === 0 && waiting > 0 && leaving === 0 && members.every(({ settled }) => settled)
  return stuck ? leastLoss(members, cover) : steps
}

/**
 * The settled connections: `up` for 5 s without a filter change. A station in one of their filters may be dropped from
 * another filter.
 */
interface Cover {
  /**
   * Returns how many of `stations` would get no messages without `member`. These are the registered stations that are
   * in no filter of another settled connection.
   */
  losses(member: Member, stations: Iterable<StationKey>): number
  /** Removes a connection from the settled ones. Call before the connection closes or changes its filter. */
  drop(member: Member): void
}

function coverOf(members: readonly Member[], wanted: ReadonlySet<StationKey>): Cover {
  const settled = new Set(members.filter((member) => member.settled))
  return {
    losses(member, stations) {
      const carriers = [...settled].filter((carrier) => carrier !== member)
      return [...stations].filter((key) => wanted.has(key) && !carriers.some((carrier) => carrier.stations.has(key)))
        .length
    },
    drop: (member) => void settled.delete(member),
  }
}

/**
 * Closes the retiring connection with the fewest stations that no other filter has. Needed if a plan was replaced
 * half-way: nearly `maxConnections` are in use, and each retiring one is the only one for some station.
 */
function leastLoss(members: readonly Member[], cover: Cover): readonly Step[] {
  const [least] = members
    .filter(({ retiring }) => retiring)
    .map((member) => ({ id: member.id, stations: cover.losses(member, member.stations) }))
    .toSorted((a, b) => a.stations - b.stations)
  return least ? [{ kind: 'sacrifice', ...least }] : []
}
