import type { StationKey } from '../../messages/store.ts'

/** A connection during the rollout of a plan. */
export interface Member {
  readonly id: number
  /** The stations in its filter, or in its login line if it is not up yet. */
  readonly stations: ReadonlySet<StationKey>
  /** The stations that its filter should have according to the plan; undefined if it need not change. */
  readonly next: ReadonlySet<StationKey> | undefined
  /** Whether the plan closes it. */
  readonly retiring: boolean
  /** Whether it is logged in, so that messages may arrive on it. */
  readonly up: boolean
  /** Whether its filter has been confirmed long enough that others may rely on it. */
  readonly settled: boolean
}

export type Step =
  | { readonly kind: 'close'; readonly id: number }
  | { readonly kind: 'change'; readonly id: number; readonly stations: ReadonlySet<StationKey> }
  /** Opens the first of the waiting connections. */
  | { readonly kind: 'open' }
  /**
   * Like `close`, but messages to some stations may be missed until their new connection is up. `stations`: their
   * number.
   */
  | { readonly kind: 'sacrifice'; readonly id: number; readonly stations: number }

/** The state of the rollout of a plan. */
export interface Rollout {
  readonly members: readonly Member[]
  /** How many connections wait to be opened. */
  readonly waiting: number
  /** How many closed connections still read their last lines. Each of them still counts as a connection. */
  readonly leaving: number
  /** The registered stations. */
  readonly wanted: ReadonlySet<StationKey>
  /** Maximum number of connections at a time. */
  readonly maxConnections: number
}

/**
 * Returns the steps that are possible now without losing a message. The only rule is this: no connection drops a
 * registered station from its filter unless another settled connection has the station. The rule depends on no plan and
 * no order of events, so a new plan is safe at any time.
 */
export function nextSteps({ members, waiting, leaving, wanted, maxConnections }: Rollout): readonly Step[] {
  const steps: Step[] = []
  const cover = coverOf(members, wanted)
  let staying = members
  for (const member of members) {
    if (!member.retiring) continue
    if (member.up && cover.losses(member, member.stations) > 0) continue
    staying = staying.filter((candidate) => candidate !== member)
    cover.drop(member)
    steps.push({ kind: 'close', id: member.id })
  }

  for (const member of staying) {
    const { next } = member
    if (!next) continue
    const dropped = [...member.stations].filter((station) => !next.has(station))
    if (member.up && cover.losses(member, dropped) > 0) continue
    // Until the server confirms the change, no other connection may rely on this one.
    cover.drop(member)
    steps.push({ kind: 'change', id: member.id, stations: next })
  }

  const free = maxConnections - staying.length - leaving
  for (let count = 0; count < Math.min(free, waiting); count++) steps.push({ kind: 'open' })

  const stuck = steps.length === 0 && waiting > 0 && leaving === 0 && staying.every(({ settled }) => settled)
  return stuck ? leastLoss(staying, cover) : steps
}

/** The settled connections, on which others may rely. */
interface Cover {
  /** Returns how many of these stations of `member` are wanted and in no other settled filter. */
  losses(member: Member, stations: Iterable<StationKey>): number
  /** Removes a connection, on which others may no longer rely. */
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
 * Closes the retiring connection that loses the fewest stations. This is needed if no connection can be opened and each
 * retiring one is the only carrier of some station. A plan that is replaced half-way can lead to this if
 * `maxConnections` leaves almost no spare.
 */
function leastLoss(members: readonly Member[], cover: Cover): readonly Step[] {
  const [least] = members
    .filter(({ retiring }) => retiring)
    .map((member) => ({ id: member.id, stations: cover.losses(member, member.stations) }))
    .toSorted((a, b) => a.stations - b.stations)
  return least ? [{ kind: 'sacrifice', ...least }] : []
}
