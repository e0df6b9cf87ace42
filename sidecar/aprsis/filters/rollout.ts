import type { StationKey } from '../../messages/store.ts'

/** A connection while a plan is being carried out. */
export interface Member {
  readonly id: number
  /** What its filter asks for, or will, once it is up. */
  readonly stations: ReadonlySet<StationKey>
  /** What the plan wants its filter to ask for instead. */
  readonly next: ReadonlySet<StationKey> | undefined
  /** The plan wants it gone. */
  readonly retiring: boolean
  /** Logged in; messages may arrive by it. */
  readonly up: boolean
  /** Its filter has been confirmed for so long that what it asks for certainly arrives by it. */
  readonly settled: boolean
}

export type Step =
  | { readonly kind: 'close'; readonly id: number }
  | { readonly kind: 'change'; readonly id: number; readonly stations: ReadonlySet<StationKey> }
  /** The first of those that wait to be opened. */
  | { readonly kind: 'open' }
  /** Like `close`, but messages to `stations` may be missed until their new connection is up. */
  | { readonly kind: 'sacrifice'; readonly id: number; readonly stations: number }

/** Where the rollout of a plan stands. */
export interface Rollout {
  readonly members: readonly Member[]
  /** How many connections wait to be opened. */
  readonly waiting: number
  /** How many closed ones still take leave: they hold a place till then. */
  readonly leaving: number
  /** The registered stations. */
  readonly wanted: ReadonlySet<StationKey>
  /** How many connections there may be at a time. */
  readonly maxConnections: number
}

/**
 * What can be done now towards the plan without losing a message. The one rule: no connection stops asking for a registered
 * station unless another settled one asks for it. It holds for any plan and in any order of events, so that planning anew half way
 * is safe.
 */
export function nextSteps({ members, waiting, leaving, wanted, maxConnections }: Rollout): readonly Step[] {
  const steps: Step[] = []
  const cover = coverOf(members)
  let staying = members
  for (const member of members) {
    if (!member.retiring) continue
    if (member.up && cover.losesAny(member, member.stations, wanted)) continue
    staying = staying.filter((other) => other !== member)
    cover.drop(member)
    steps.push({ kind: 'close', id: member.id })
  }

  for (const member of staying) {
    const { next } = member
    if (!next) continue
    const dropped = [...member.stations].filter((station) => !next.has(station))
    if (member.up && cover.losesAny(member, dropped, wanted)) continue
    // Until the server confirms the change, nobody else may rely on this one.
    cover.drop(member)
    steps.push({ kind: 'change', id: member.id, stations: next })
  }

  const free = maxConnections - staying.length - leaving
  for (let count = 0; count < Math.min(free, waiting); count++) steps.push({ kind: 'open' })

  const stuck = steps.length === 0 && waiting > 0 && leaving === 0 && staying.every(({ settled }) => settled)
  return stuck ? leastLoss(staying, wanted, cover) : steps
}

/** By how many settled connections each station is asked for. */
interface Cover {
  /** Whether nobody else would ask for one of these wanted stations of `member`. */
  losesAny(member: Member, stations: Iterable<StationKey>, wanted: ReadonlySet<StationKey>): boolean
  /** How many of all stations of `member` that holds for. */
  losses(member: Member, wanted: ReadonlySet<StationKey>): number
  /** Nobody is to rely on this one any more. */
  drop(member: Member): void
}

/** Counted once for all members, and only when it is asked for: looking each station up in each connection is quadratic. */
function coverOf(members: readonly Member[]): Cover {
  const dropped = new Set<Member>()
  let counts: Map<StationKey, number> | undefined

  function count(): Map<StationKey, number> {
    const found = new Map<StationKey, number>()
    for (const member of members) {
      if (!member.settled || dropped.has(member)) continue
      for (const station of member.stations) found.set(station, (found.get(station) ?? 0) + 1)
    }
    return found
  }

  /** Whether `member` is the only one, itself counted where it counts. */
  function isLost(member: Member): (station: StationKey) => boolean {
    counts ??= count()
    const found = counts
    const own = member.settled && !dropped.has(member) ? 1 : 0
    return (station) => (found.get(station) ?? 0) <= own
  }

  return {
    losesAny(member, stations, wanted) {
      const lost = isLost(member)
      for (const station of stations) if (wanted.has(station) && lost(station)) return true
      return false
    },
    losses(member, wanted) {
      const lost = isLost(member)
      let losses = 0
      for (const station of member.stations) if (wanted.has(station) && lost(station)) losses += 1
      return losses
    },
    drop(member) {
      if (counts && member.settled)
        for (const station of member.stations) counts.set(station, (counts.get(station) ?? 0) - 1)
      dropped.add(member)
    },
  }
}

/**
 * All places are taken and each retiring connection alone carries something: plans that changed half way can lead here when hardly
 * any place is spare. The one that carries the fewest alone makes room.
 */
function leastLoss(members: readonly Member[], wanted: ReadonlySet<StationKey>, cover: Cover): readonly Step[] {
  const [least] = members
    .filter(({ retiring }) => retiring)
    .map((member) => ({ id: member.id, stations: cover.losses(member, wanted) }))
    .toSorted((a, b) => a.stations - b.stations)
  return least ? [{ kind: 'sacrifice', ...least }] : []
}
