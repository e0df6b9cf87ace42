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
 * What can be done now towards the plan without losing a message. The one rule: no connection stops asking for a
 * registered station unless another settled one asks for it. It holds for any plan and in any order of events, so that
 * planning anew half way is safe.
 */
export function nextSteps({ members, waiting, leaving, wanted, maxConnections }: Rollout): readonly Step[] {
  const steps: Step[] = []
  const cover = coverOf(members, wanted)
  let staying = members
  for (const member of members) {
    if (!member.retiring) continue
    if (member.up && cover.losses(member, member.stations) > 0) continue
    staying = staying.filter((other) => other !== member)
    cover.drop(member)
    steps.push({ kind: 'close', id: member.id })
  }

  for (const member of staying) {
    const { next } = member
    if (!next) continue
    const dropped = [...member.stations].filter((station) => !next.has(station))
    if (member.up && cover.losses(member, dropped) > 0) continue
    // Until the server confirms the change, nobody else may rely on this one.
    cover.drop(member)
    steps.push({ kind: 'change', id: member.id, stations: next })
  }

  const free = maxConnections - staying.length - leaving
  for (let count = 0; count < Math.min(free, waiting); count++) steps.push({ kind: 'open' })

  const stuck = steps.length === 0 && waiting > 0 && leaving === 0 && staying.every(({ settled }) => settled)
  return stuck ? leastLoss(staying, cover) : steps
}

/** Which settled connections ask for a station. */
interface Cover {
  /** For how many of these stations of `member` that are wanted nobody else would ask. */
  losses(member: Member, stations: Iterable<StationKey>): number
  /** Nobody is to rely on this one any more. */
  drop(member: Member): void
}

function coverOf(members: readonly Member[], wanted: ReadonlySet<StationKey>): Cover {
  const settled = new Set(members.filter((member) => member.settled))
  return {
    losses(member, stations) {
      const others = [...settled].filter((other) => other !== member)
      return [...stations].filter((key) => wanted.has(key) && !others.some((other) => other.stations.has(key))).length
    },
    drop: (member) => void settled.delete(member),
  }
}

/**
 * All places are taken and each retiring connection alone carries something: plans that changed half way can lead here
 * when hardly any place is spare. The one that carries the fewest alone makes room.
 */
function leastLoss(members: readonly Member[], cover: Cover): readonly Step[] {
  const [least] = members
    .filter(({ retiring }) => retiring)
    .map((member) => ({ id: member.id, stations: cover.losses(member, member.stations) }))
    .toSorted((a, b) => a.stations - b.stations)
  return least ? [{ kind: 'sacrifice', ...least }] : []
}
