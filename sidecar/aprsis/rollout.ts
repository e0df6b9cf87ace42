import type { StationKey } from '../messages/store.ts'

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
  let staying = members
  for (const member of members) {
    if (!member.retiring) continue
    const others = staying.filter((other) => other !== member)
    if (member.up && lost(member.stations, wanted, others).length > 0) continue
    staying = others
    steps.push({ kind: 'close', id: member.id })
  }

  let unchanged = staying
  for (const member of staying) {
    const { next } = member
    if (!next) continue
    const others = unchanged.filter((other) => other !== member)
    const dropped = [...member.stations].filter((station) => !next.has(station))
    if (member.up && lost(dropped, wanted, others).length > 0) continue
    // Until the server confirms the change, nobody else may rely on this one.
    unchanged = others
    steps.push({ kind: 'change', id: member.id, stations: next })
  }

  const free = maxConnections - staying.length - leaving
  for (let count = 0; count < Math.min(free, waiting); count++) steps.push({ kind: 'open' })

  const stuck = steps.length === 0 && waiting > 0 && leaving === 0 && staying.every(({ settled }) => settled)
  return stuck ? leastLoss(staying, wanted) : steps
}

/** Which of `stations` nobody would carry if only `others` did. */
function lost(
  stations: Iterable<StationKey>,
  wanted: ReadonlySet<StationKey>,
  others: readonly Member[],
): readonly StationKey[] {
  const carriers = others.filter(({ settled }) => settled)
  return [...stations].filter(
    (station) => wanted.has(station) && !carriers.some((carrier) => carrier.stations.has(station)),
  )
}

/**
 * All places are taken and each retiring connection alone carries something: plans that changed half way can lead here when hardly
 * any place is spare. The one that carries the fewest alone makes room.
 */
function leastLoss(members: readonly Member[], wanted: ReadonlySet<StationKey>): readonly Step[] {
  const [least] = members
    .filter(({ retiring }) => retiring)
    .map((member) => {
      const others = members.filter((other) => other !== member)
      return { id: member.id, stations: lost(member.stations, wanted, others).length }
    })
    .toSorted((a, b) => a.stations - b.stations)
  return least ? [{ kind: 'sacrifice', ...least }] : []
}
