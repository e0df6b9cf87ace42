import type { StationKey } from '../../messages/store.ts'

/** A connection during the rollout of a plan. */
export interface Member {
  readonly id: number
  /** The stations in its filter at the server. If it is not up yet: the stations in the filter of its login line. */
  readonly stations: ReadonlySet<StationKey>
  /** The stations that its filter should have according to the plan; undefined if it need not change. */
  readonly next: ReadonlySet<StationKey> | undefined
  /** Whether the plan closes the connection. */
  readonly retiring: boolean
  /** Whether it is logged in, so that messages may arrive on it. */
  readonly up: boolean
  /** Whether its filter has been confirmed for some seconds. Only then may others drop stations that this one has. */
  readonly settled: boolean
}

export type Step =
  | { readonly kind: 'close'; readonly id: number }
  | { readonly kind: 'change'; readonly id: number; readonly stations: ReadonlySet<StationKey> }
  /** Opens the first of the connections that the plan has yet to open. */
  | { readonly kind: 'open' }
  /**
   * Like `close`, but messages to some stations may be missed until their new connection is up. `stations`: their
   * number.
   */
  | { readonly kind: 'sacrifice'; readonly id: number; readonly stations: number }

/** The state of the rollout of a plan. */
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
 * Returns the steps that are possible now without losing a message. The rule: a connection drops a registered station
 * only if another settled connection has the station. The rule does not depend on earlier plans, so the plan may be
 * replaced at any time.
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
    // Until the server confirms the change, no other connection may drop a station because this one has it.
    cover.drop(member)
    steps.push({ kind: 'change', id: member.id, stations: next })
  }

  const free = maxConnections - staying.length - leaving
  for (let count = 0; count < Math.min(free, waiting); count++) steps.push({ kind: 'open' })

  const stuck = steps.length === 0 && waiting > 0 && leaving === 0 && staying.every(({ settled }) => settled)
  return stuck ? leastLoss(staying, cover) : steps
}

/** The settled connections. A station in one of their filters may be dropped from another filter. */
interface Cover {
  /**
   * Returns how many of `stations` only `member` covers: stations that are wanted, and that no other member has in its
   * settled filter. Without `member`, they would get no messages.
   */
  losses(member: Member, stations: Iterable<StationKey>): number
  /** Removes a connection that is about to close or change. */
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
 * Closes the retiring connection that loses the fewest stations. Needed if no further connection can be opened, and
 * each retiring one is the only one with some station. This can happen when a plan is replaced half-way and nearly all
 * connections that `maxConnections` allows are in use.
 */
function leastLoss(members: readonly Member[], cover: Cover): readonly Step[] {
  const [least] = members
    .filter(({ retiring }) => retiring)
    .map((member) => ({ id: member.id, stations: cover.losses(member, member.stations) }))
    .toSorted((a, b) => a.stations - b.stations)
  return least ? [{ kind: 'sacrifice', ...least }] : []
}
